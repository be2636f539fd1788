/** Messages for the tests on what a compaction made the context forget: each gets the next revision. */
import type { Forgetting, Said, SaidCall } from '../../../../src/domain/reports/forgotten/said.js'

/** A speaker of a conversation: ids and revisions count on. */
export function createTalk(): {
  user(text: string): Said
  assistant(text: string): Said
  byProgram(text: string): Said
  /** A call and its result. */
  work(name: string, args: unknown, result: string, isError?: boolean): [Said, Said]
  /** A call without a result. */
  call(name: string, args: unknown): Said
} {
  let revision = 0n
  const next = (said: Omit<Said, 'messageId' | 'revision' | 'tokens' | 'at'>): Said => {
    revision += 1n
    return {
      messageId: `m${String(revision)}`,
      revision,
      tokens: Math.ceil(said.text.length / 4),
      at: new Date(Number(revision) * 1_000).toISOString(),
      ...said,
    }
  }
  const callOf = (name: string, args: unknown): SaidCall => ({
    id: `c${String(revision + 1n)}`,
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
  })
  const call = (name: string, args: unknown): Said =>
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

/** A compaction of messages, with what is not said left out. */
export const forgetting = (given: Partial<Forgetting> & { readonly text?: string }): Forgetting => ({
  left: given.left ?? [],
  stayed: given.stayed ?? [],
  summary: given.summary ?? { kind: 'text', text: given.text ?? '' },
  before: given.before ?? [...(given.left ?? []), ...(given.stayed ?? [])],
  after: given.after ?? [],
})
