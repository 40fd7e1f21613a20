"""Other engines to be measured beside Headrace."""
