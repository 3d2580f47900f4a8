"""What every JupyterLab of ours is told, wherever it runs: the proxy signs people in, and no page looks outside."""

from __future__ import annotations

from typing import Final

OPTIONS: Final = (
    "--no-browser",
    "--ServerApp.base_url=/",
    "--ServerApp.allow_remote_access=True",
    "--ServerApp.trust_xheaders=True",
    "--ServerApp.quit_button=False",
    "--ServerApp.shutdown_no_activity_timeout=0",
    "--ServerApp.terminals_enabled=True",
    "--IdentityProvider.token=",
    "--PasswordIdentityProvider.hashed_password=",
    "--PasswordIdentityProvider.password_required=False",
    "--LanguageServerManager.autodetect=False",
    "--MappingKernelManager.cull_idle_timeout=0",
    "--TerminalManager.cull_inactive_timeout=0",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
