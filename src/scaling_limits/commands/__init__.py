"""What users type: what figures will cost, what lies in the store."""
