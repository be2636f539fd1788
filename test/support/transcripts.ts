/** Random transcripts of an invented program, with the model's context after each step. */
import fc from 'fast-check'
import type { ContextEntry, TranscriptItem } from '../../src/application/importers/transcript.js'
import type { MessageBody } from '../../src/domain/values/message.js'

/** A step of the program, before it is known what is live. Numbers choose among what is there. */
export type Step =
  | {
      readonly kind: 'say'
      readonly role: 'user' | 'assistant' | 'system'
      readonly text: string
      readonly answer: number
    }
  | { readonly kind: 'call'; readonly text: string; readonly stray: boolean }
  | {
      readonly kind: 'compact'
      readonly keep: number
      readonly summary: 'text' | 'opaque' | 'none'
      readonly last: boolean
    }
  | { readonly kind: 'withdraw'; readonly last: number }
  | { readonly kind: 'edit'; readonly at: number; readonly text: string }
  | { readonly kind: 'damage' }

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30 }),
  fc.constantFrom('请记住', 'never touch production', '😀 ok', 'x'.repeat(500)),
)

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('say' as const),
        role: fc.constantFrom('user' as const, 'assistant' as const, 'assistant' as const, 'system' as const),
        text,
        answer: fc.nat(2),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('call' as const), text, stray: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('compact' as const),
        keep: fc.nat(5),
        summary: fc.constantFrom('text' as const, 'opaque' as const, 'none' as const),
        last: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('withdraw' as const), last: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('edit' as const), at: fc.nat(5), text }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('damage' as const) }) },
  ),
  { minLength: 1, maxLength: 25 },
)

/** The texts of what the model was given, in order: that is what a test compares. */
export interface WrittenMessage {
  readonly items: readonly TranscriptItem[]
  /** After each item, the contents of the model's context, message by message. */
  readonly contexts: readonly (readonly MessageBody['content'][])[]
}

const FILE = 'made-up.jsonl'

/** What the program writes, and what its model is given after each record. */
export function transcriptOf(given: readonly Step[]): WrittenMessage {
  const items: TranscriptItem[] = [
    {
      kind: 'conversation',
      sourceId: 's1',
      programVersion: '1.0',
      startedAt: '2026-01-01T00:00:00.000Z',
      where: { file: FILE, line: 1 },
    },
  ]
  const contexts: (readonly MessageBody['content'][])[] = [[]]
  /** Entries that the program's context has: a message by its id, or a text of the program. */
  let context: { id: string | undefined; entry: ContextEntry; content: MessageBody['content'] }[] = []
  let line = 1
  const push = (item: TranscriptItem): void => {
    items.push(item)
    contexts.push(context.map((each) => each.content))
  }
  const where = (): { file: string; line: number } => ({ file: FILE, line: (line += 1) })
  const say = (body: MessageBody, answerId?: string): void => {
    const position = where()
    const sourceId = `r${String(position.line)}`
    context = [...context, { id: sourceId, entry: { kind: 'message', sourceId }, content: body.content }]
    push({
      kind: 'message',
      sourceId,
      part: 0,
      at: new Date(Date.UTC(2026, 0, 1, 0, 0, position.line)).toISOString(),
      body,
      answerId,
      where: position,
    })
  }
  for (const [at, step] of given.entries()) {
    switch (step.kind) {
      case 'say':
        say({ role: step.role, content: step.text }, undefined)
        break
      case 'call': {
        const id = `call-${String(at)}`
        if (!step.stray)
          say({
            role: 'assistant',
            content: step.text,
            toolCalls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
          })
        say({ role: 'tool', content: `result of ${step.text}`, toolCallId: id })
        break
      }
      case 'compact': {
        const position = where()
        const stay = context.slice(Math.max(0, context.length - step.keep)).filter(({ id }) => id !== undefined)
        const summary =
          step.summary === 'none'
            ? []
            : [
                {
                  id: undefined,
                  entry: {
                    kind: 'inserted' as const,
                    body: { role: 'user' as const, content: `summary at ${String(position.line)}` },
                    isSummary: true as const,
                  },
                  content: `summary at ${String(position.line)}`,
                },
              ]
        context = step.last ? [...stay, ...summary] : [...summary, ...stay]
        push({
          kind: 'compaction',
          sourceId: `c${String(position.line)}`,
          trigger: 'auto',
          summary:
            step.summary === 'text'
              ? { kind: 'text', text: `summary at ${String(position.line)}` }
              : { kind: step.summary },
          context: context.map(({ entry }) => entry),
          tokensBefore: 1000,
          where: position,
        })
        // A replacement text survives the compaction: the entries name the message alone.
        break
      }
      case 'withdraw': {
        const removedIds = context.slice(-step.last).flatMap(({ id }) => id ?? [])
        if (removedIds.length === 0) break
        context = context.filter(({ id }) => id === undefined || !removedIds.includes(id))
        push({ kind: 'withdrawal', sourceIds: removedIds, where: where() })
        break
      }
      case 'edit': {
        const live = context.filter(({ id }) => id !== undefined)
        const target = live[step.at % Math.max(1, live.length)]
        if (target?.id === undefined) break
        const { id } = target
        context = context.map((each) => (each.id === id ? { ...each, content: step.text } : each))
        push({ kind: 'edit', sourceId: id, part: 0, content: step.text, why: 'pruned', where: where() })
        break
      }
      case 'damage':
        push({ kind: 'damage', detail: 'is no JSON', isCut: false, where: where() })
        break
    }
  }
  return { items, contexts }
}
