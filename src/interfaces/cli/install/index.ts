/** The programs that `install` knows. */
import { titleOfProgram } from '../../../application/importers/index.js'
import type { AgentProgram } from './agent-program.js'
import { claudeCode } from './claude-code.js'
import { codex } from './codex.js'
import { jetbrains, zed } from './editors.js'
import { gemini } from './gemini.js'
import { opencode } from './opencode.js'
import { pi } from './pi.js'

/** Programs that run agents and get hooks. */
export const agentPrograms: readonly AgentProgram[] = [claudeCode, codex, gemini, opencode, pi]

/** Everything that `install` knows: also editors, which run agents of others. */
export const installable: readonly AgentProgram[] = [...agentPrograms, zed, jetbrains]

/** The name of a program for people. */
export const titleOf = ({ name, title }: AgentProgram): string => title ?? titleOfProgram(name)
