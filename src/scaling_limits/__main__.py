"""`python -m scaling_limits` is `scaling-limits`."""

from scaling_limits.commands.main import main

# the processes of `power` import this module, too
if __name__ == "__main__":
    main()
