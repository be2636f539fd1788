/** A real agent program: how it is installed, configured and driven without a terminal. */
import type { Key } from './processes.js'
import type { ModelClient } from './model/server.js'
import type { ProcessResult } from './processes.js'

/** The surroundings of a program: its directories and its model. */
export interface AgentSite {
  /** Its HOME. */
  readonly home: string
  /** Its working directory. */
  readonly project: string
  /** Base URL of its model, without a path. */
  readonly modelUrl: string
}

/** Something that the program cannot do, with the reason. */
export interface Impossible {
  readonly impossible: string
}

export const isImpossible = (value: object): value is Impossible => 'impossible' in value

/** Arguments of the program. */
export interface AgentCommand {
  readonly words: readonly string[]
  readonly input?: string
  /** The program needs a terminal: it gets these keys, one entry after each time that it is quiet. */
  readonly keys?: readonly Key[]
}

/** The program of an MCP server, and its arguments. */
type McpCommand = readonly [program: string, ...words: string[]]

/** The program as an editor runs it. */
interface AcpCommand {
  /** Arguments of the program, or of its adapter. */
  readonly words: readonly string[]
  /** Another package that speaks the protocol for the program. */
  readonly adapter?: Installation
  /** Why its compactions cannot be seen; undefined if they can. */
  readonly compactions?: Impossible
}

/** The source of the program. */
interface Installation {
  readonly package: string
  readonly version: string
  /** Path below `node_modules`: a JavaScript file runs in Node, another file by itself. */
  readonly binary: string
  /** The program needs Node 24. Otherwise it runs on the installed Node, or without Node. */
  readonly needsNode24?: true
}

export interface AgentProgram extends ModelClient {
  /** As `import --from` names it. */
  readonly name: string
  readonly title: string
  readonly installation: Installation
  /** Writes the configuration. */
  configure(site: AgentSite): Promise<void>
  environment(site: AgentSite): Readonly<Record<string, string>>
  /** Directories and files below HOME to import. */
  readonly transcripts: readonly string[]
  /** One turn, in a new session or in an earlier one. */
  turn(prompt: string, session: string | undefined): AgentCommand
  /** The id for `session` of the next turn, from the output of a turn; undefined if it cannot be read. */
  sessionOf(result: ProcessResult, site: AgentSite): Promise<string | undefined>
  /** The program compacts because the user wants it. */
  readonly compact: ((session: string) => AgentCommand) | Impossible
  /** Adds an MCP server, for a program without one in `context-ledger install`. */
  readonly addMcpServer?: ((site: AgentSite, command: McpCommand) => Promise<void>) | Impossible
  /** Why it cannot resume a session without a terminal: each turn is then a session of its own. Undefined if it can. */
  readonly resume?: Impossible
  /** Why the proxy cannot record it; undefined if it can. */
  readonly proxy?: Impossible
  /** How an editor runs it over the Agent Client Protocol; undefined if it does not speak it. */
  readonly acp?: AcpCommand
  /** Input tokens of an answer after which the program compacts by itself. */
  readonly tokensToCompact: number
  /** Texts that the program adds to a request and does not store; their kinds are reported. */
  readonly additions: readonly Addition[]
}

/** Text of a request that no transcript contains. */
export interface Addition {
  /** Its kind, for the report. */
  readonly kind: string
  /** The part of a message's text that it is. */
  readonly pattern: RegExp
}

/** Reminders that Claude Code, and programs like it, put into the messages of a request. */
export const REMINDERS: Addition = { kind: 'reminder', pattern: /<system-reminder>[\s\S]*?<\/system-reminder>\n?/gu }
