"""The sign-flip p-value over all sign assignments: a ladder of steps from counting to inverting."""
