"""The flow editor: a graph of the document, forms for its entries, and edits of its text."""
