/** Builds messages for the tests of the report on compactions: each gets the next revision. */
import type { ReportInput, ReportMessage, ReportToolCall } from '../../src/application/loss-report/report-input.js'

/** Creates the messages of a conversation with consecutive ids and revisions. */
export function createTalk(): {
  user(text: string): ReportMessage
  assistant(text: string): ReportMessage
  byProgram(text: string): ReportMessage
  /** A call and its result. */
  work(name: string, args: unknown, result: string, isError?: boolean): [ReportMessage, ReportMessage]
  /** A call without a result. */
  call(name: string, args: unknown): ReportMessage
} {
  let revision = 0
  const next = (said: Omit<ReportMessage, 'messageId' | 'revision' | 'tokens' | 'at' | 'ownText'>): ReportMessage => {
    revision += 1
    return {
      messageId: `m${String(revision)}`,
      revision,
      tokens: Math.ceil(said.text.length / 4),
      at: new Date(revision * 1_000).toISOString(),
      ownText: said.byProgram === true ? '' : said.text,
      ...said,
    }
  }
  const callOf = (name: string, args: unknown): ReportToolCall => ({
    id: `c${String(revision + 1)}`,
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
  })
  const call = (name: string, args: unknown): ReportMessage =>
    next({ role: 'assistant', text: '', toolCalls: [callOf(name, args)] })
  return {
    user: (text) => next({ role: 'user', text }),
    assistant: (text) => next({ role: 'assistant', text }),
    byProgram: (text) => next({ role: 'user', text, byProgram: true }),
    call,
    work(name, args, result, isError = false) {
      const by = call(name, args)
      const answer = next({
        role: 'tool',
        text: result,
        toolCallId: by.toolCalls?.[0]?.id,
        ...(isError ? { isError } : {}),
      })
      return [by, answer]
    },
  }
}

/** A compaction of messages, with defaults for missing fields. */
export const forgetting = (given: Partial<ReportInput> & { readonly text?: string }): ReportInput => ({
  removed: given.removed ?? [],
  remaining: given.remaining ?? [],
  summary: given.summary ?? { kind: 'text', text: given.text ?? '' },
  before: given.before ?? [...(given.removed ?? []), ...(given.remaining ?? [])],
  after: given.after ?? [],
})
