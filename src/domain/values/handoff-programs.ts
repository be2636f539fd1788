/** The programs that a conversation can be handed over to. */
export const HANDOFF_PROGRAMS = ['claude-code', 'codex', 'opencode', 'pi', 'gemini'] as const
