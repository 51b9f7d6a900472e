"""What the server behind `commands.Killable` imports once, so that its children need not."""

import tests.commands  # noqa: F401
