/** The `answers` of assistant messages are checked against the conversation, and shown. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import type { Context } from '../../src/domain/compaction/context.js'
import type { MessageInput } from '../../src/domain/values/message.js'
import { parseMessage } from '../../src/domain/values/parse-message.js'
import { VIEWS } from '../../src/domain/values/view-names.js'
import { contextIn } from '../../src/domain/compaction/context.js'
import { nameless, say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness, type Harness } from '../support/harness.js'
import { explained } from '../support/explain-conversation.js'

const answersOf = ({ revision, hash }: Pick<Context, 'revision' | 'hash'>): Pick<MessageInput, 'answers'> => ({
  answers: { revision: String(revision), hash },
})
const OTHER = 'f'.repeat(64)

/** Like a host that calls its model with the context, with occasional messages in between. */
async function conversed(): Promise<{ harness: Harness; contexts: Context[] }> {
  const harness = createHarness({ policy: SMALL })
  const contexts: Context[] = []
  for (const message of talk(60)) {
    await harness.appended(message)
    contexts.push(await harness.context())
    await harness.compact()
    contexts.push(await harness.context())
  }
  return { harness, contexts }
}

async function refused(harness: Harness, message: MessageInput): Promise<unknown> {
  const before = (await harness.events()).length
  const result = await harness.append([say(100), message])
  expect(await harness.events()).toHaveLength(before)
  return E.isLeft(result) ? result.left : result
}

describe('answers', () => {
  it('may name any context of any view, regardless of later messages and compactions', async () => {
    const { harness, contexts } = await conversed()
    for (const [at, context] of contexts.entries())
      await harness.appended({ id: `a${String(at)}`, role: 'assistant', content: 'Done.', ...answersOf(context) })
    const state = await harness.conversations.load(CONVERSATION)
    for (const view of VIEWS) {
      const context = contextIn(state, view)
      if (E.isLeft(context)) throw new Error(context.left.kind)
      await harness.appended({ id: view, role: 'assistant', content: 'Done.', ...answersOf(context.right) })
    }
    expect((await harness.eventsOf('MessageAppended')).filter(({ data }) => data.answers !== undefined)).toHaveLength(
      contexts.length + VIEWS.length,
    )
  })

  it('with an unknown revision or another hash are rejected with the field, and nothing is recorded', async () => {
    const { harness, contexts } = await conversed()
    const last = await harness.context()
    const answer = { id: 'answer', role: 'assistant', content: 'Done.' } as const
    for (const revision of [last.revision + 1, last.revision + 2, Number.MAX_SAFE_INTEGER]) {
      expect(await refused(harness, { ...answer, ...answersOf({ revision, hash: last.hash }) })).toMatchObject({
        kind: 'BadMessage',
        field: 'answers.revision',
        detail: expect.stringContaining('"answer"'),
      })
    }
    for (const { revision } of [last, ...contexts.filter((_context, at) => at % 9 === 0)])
      expect(await refused(harness, { ...answer, ...answersOf({ revision, hash: OTHER }) })).toMatchObject({
        kind: 'BadMessage',
        field: 'answers.hash',
      })
    expect(
      await refused(harness, { ...answer, ...answersOf({ revision: last.revision - 1, hash: last.hash }) }),
    ).toMatchObject({ field: 'answers.hash' })
    const empty = createHarness()
    expect(await empty.append({ ...answer, ...answersOf({ revision: 0, hash: OTHER }) })).toMatchObject({
      left: { field: 'answers.revision' },
    })
    expect(await empty.events()).toEqual([])
  })

  it('need no read for the current state, and a bounded one after other events', async () => {
    const { harness } = await conversed()
    const context = await harness.context()
    harness.store.reads = 0
    await harness.appended({ id: 'now', role: 'assistant', content: 'Done.', ...answersOf(context) })
    expect(harness.store.reads).toBe(0)
    await harness.appended({ id: 'later', role: 'assistant', content: 'Done, too.', ...answersOf(context) })
    expect(harness.store.reads).toBeLessThan(40)
  })

  it('for a newer context of another process are accepted, and are ignored for a recorded message', async () => {
    const { harness } = await conversed()
    const rival = harness.restart()
    await rival.appended(say(200))
    const answer: MessageInput = {
      id: 'answer',
      role: 'assistant',
      content: 'Done.',
      ...answersOf(await rival.context()),
    }
    expect((await harness.appended(answer)).recorded).toEqual(['answer'])
    expect((await harness.appended(answer)).recorded).toEqual([])
    for (const message of talk(60, 300)) {
      await harness.appended(message)
      await harness.compact()
    }
    expect((await harness.appended({ ...answer, answers: { revision: '1', hash: OTHER } })).recorded).toEqual([])
  })

  it('are also checked by compress, and stay with a repeated message', async () => {
    const harness = createHarness({ policy: SMALL })
    const list = talk(3).map(nameless)
    await harness.compress(list)
    const context = await harness.context()
    const wrong = await harness.compress([
      ...list,
      { role: 'assistant', content: 'Done.', answers: { revision: String(context.revision), hash: OTHER } },
    ])
    expect([wrong.error?.kind, wrong.error?.['field']]).toEqual(['BadMessage', 'answers.hash'])
    expect(await harness.eventsOf('MessageAppended')).toHaveLength(3)
    const right: MessageInput[] = [...list, { role: 'assistant', content: 'Done.', ...answersOf(context) }]
    expect((await harness.compress(right)).error).toBeUndefined()
    expect(
      (await harness.compress(right.with(1, { role: 'assistant', content: 'Said otherwise.' }))).error,
    ).toBeUndefined()
    expect(
      (await harness.eventsOf('MessageAppended')).flatMap(({ data }) =>
        data.answers === undefined ? [] : [data.answers.hash],
      ),
    ).toEqual([context.hash, context.hash])
  })

  it('are only for messages of the assistant', () => {
    for (const role of ['user', 'system', 'developer'])
      expect(parseMessage({ role, content: 'x', answers: { revision: '0', hash: OTHER } })).toMatchObject({
        left: { field: 'answers' },
      })
  })

  it('are shown by explain', async () => {
    const { harness } = await conversed()
    const answers = answersOf(await harness.context())
    await harness.appended({ id: 'answer', role: 'assistant', content: 'The berth is free.', ...answers })
    expect((await explained(harness, 'message', { line: 'The berth is free.' })).message).toMatchObject(answers)
  })
})
