/** The report of a plugin that its program is about to compact a session. */
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'

/** A session that is about to be compacted, as a plugin reports it. */
export interface CompactingSession {
  readonly agent: string
  readonly sessionId: string
  readonly transcript: string
  /** Ids of the program's records that leave the context, or have left it before. */
  readonly records: readonly string[]
  /** The window of the model in tokens, if the program knows it. */
  readonly windowTokens?: number | undefined
}

/** Reads the report of a plugin. Throws if it has another form. */
export function readCompacting(text: string, agent: string): CompactingSession {
  const input: unknown = JSON.parse(text)
  if (!isRecord(input)) throw new Error('the input is not a JSON object')
  const sessionId = textIn(input['session_id'])
  const transcript = textIn(input['transcript_path'])
  const { records, window_tokens: windowTokens } = input
  if (sessionId === undefined || transcript === undefined || !Array.isArray(records))
    throw new Error('the input has no session_id, no transcript_path or no records')
  return {
    agent,
    sessionId,
    transcript,
    records: records.filter((record) => typeof record === 'string'),
    windowTokens: typeof windowTokens === 'number' ? windowTokens : undefined,
  }
}

/** A session to summarize, in a form that can be sent to the resident reader. */
export interface SummaryRequest {
  readonly summarize: CompactingSession
  /** The file of rules of the installation. */
  readonly rulesFile?: string | undefined
}

export const isSummaryRequest = (command: unknown): command is SummaryRequest =>
  isRecord(command) && isRecord(command['summarize'])
