/** The programs that a conversation can be handed over to. */
export const HANDOFF_PROGRAMS = ['claude-code', 'codex', 'opencode', 'pi', 'gemini'] as const

/** Instead of one of them: the program that recorded the conversation. */
export const SAME_PROGRAM = 'same'
