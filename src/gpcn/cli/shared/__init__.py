"""What commands share: options, output, progress, and how a failure reaches a person."""
