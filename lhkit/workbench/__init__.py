"""The workbench without a screen: commands in, parts of a screen out, as JSON; no widget and no kernel."""
