/** The programs that `install` knows. */
import type { AgentProgram } from './agent-program.js'
import { claudeCode } from './claude-code.js'
import { codex } from './codex.js'
import { gemini } from './gemini.js'
import { opencode } from './opencode.js'
import { pi } from './pi.js'

export const agentPrograms: readonly AgentProgram[] = [claudeCode, codex, gemini, opencode, pi]
