"""The bank test: transfers between accounts, whose balances must add up to 0 in every state of every sink.

    python -m tests.recovery.bank --kills 20

The test is Jamie Brandon's (*Internal consistency in streaming systems*, 2021). Every transfer is a debit of one
account and a credit of another one, so every balance changes, and their total never does. A total other than 0
is an *impossible state*: a sink has shown a part of an epoch, or an epoch twice. Triggers in the database record
every state that a sink has shown, at the commit of every epoch, also of runs that were killed.
"""
