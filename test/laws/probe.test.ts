import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { createHarness, createScriptedSummarizer } from '../support/harness.js'
import { decode, claimOf } from '../../src/domain/codec.js'
import { storedEvents, appended } from '../support/builders.js'
import type { MessageInput } from '../../src/domain/message.js'
import { parseMessage } from '../../src/domain/message.js'
const policy = { modelMaxTokens: 1000, chunkSize: 3, chunkMinTokens: 0, keepRecent: 2, maxSummaryTokens: 16 }
const say = (n: number, text = `message ${n} says something `.repeat(6)): MessageInput => ({ id: `m${n}`, role: n % 2 ? 'assistant' : 'user', content: text })
describe('probe', () => {
  it('late duplicate of a pruned tool result', async () => {
    const h = createHarness({ policy })
    await h.appended([{ id: 'u', role: 'user', content: 'go' }, { id: 'c', role: 'assistant', content: null, tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }] }, { id: 'r', role: 'tool', tool_call_id: 'x', content: 'done' }])
    await h.appended(Array.from({ length: 10 }, (_, n) => say(n)))
    await h.compact('force')
    expect((await h.conversations.load('c1')).window.some((m) => m.messageId === 'r')).toBe(false)
    const again = await h.append([{ id: 'r', role: 'tool', tool_call_id: 'x', content: 'done' }])
    expect(again).toMatchObject({ right: { recorded: [] } })
    const other = await h.append([{ id: 'r', role: 'tool', tool_call_id: 'x', content: 'other' }])
    expect(other).toMatchObject({ left: { kind: 'MessageIdTaken' } })
  })
  it('stale cache', async () => {
    const h = createHarness({ policy })
    await h.appended(say(0))
    const rival = h.restart()
    await rival.appended({ id: 'c', role: 'assistant', content: null, tool_calls: [{ id: 'x', type: 'function', function: { name: 'f', arguments: '{}' } }] })
    expect(await h.append({ id: 'r', role: 'tool', tool_call_id: 'x', content: 'done' })).toMatchObject({ right: { recorded: ['r'] } })
    await rival.appended(say(2))
    expect(E.isRight(await h.pin('m2'))).toBe(true)
  })
  it('stale pin', async () => {
    const h = createHarness({ policy })
    await h.appended([say(0), say(1)])
    await h.pin('m0')
    const rival = h.restart()
    await rival.pin('m0', false)
    await h.pin('m0')
    expect((await h.folded()).window[0]?.pinned).toBe(true)
  })
  it('pin while summarizing', async () => {
    const h = createHarness({ policy })
    await h.appended(Array.from({ length: 10 }, (_, n) => say(n)))
    h.summarizer.answer = async () => { h.summarizer.answer = () => undefined; await h.pin('m1'); return undefined }
    const done = await h.compact('force')
    expect(done.failure).toBeUndefined()
    expect((await h.context()).messageIds).toContain('m1')
  })
  it('threw', async () => {
    const h = createHarness({ policy })
    await h.appended(Array.from({ length: 10 }, (_, n) => say(n)))
    h.summarizer.answer = () => ({ throws: new Error('mine') })
    const done = await h.compact('force')
    expect(done.failure).toMatchObject({ failure: 'threw' })
    expect((await h.factsOf('CompactionFailed'))[0]?.data.failure).toBe('threw')
  })
  it('empty answer of an own summarizer', async () => {
    const h = createHarness({ policy })
    await h.appended(Array.from({ length: 10 }, (_, n) => say(n)))
    for (const text of ['', '  ', 'x'.repeat(1000)]) {
      h.summarizer.answer = () => ({ text })
      const done = await h.compact('force')
      expect(done.failure).toBeDefined()
    }
    await h.restart().conversations.load('c1'); await h.facts()
  })
  it('own summarizer with odd facts', async () => {
    const summarizer = createScriptedSummarizer()
    const odd = { ...summarizer, model: '', prepare: (job: Parameters<typeof summarizer.prepare>[0]) => ({ ...summarizer.prepare(job), model: '' }) }
    const h = createHarness({ policy, summarizer: odd })
    await h.appended(Array.from({ length: 10 }, (_, n) => say(n)))
    await expect(h.compact('force')).rejects.toThrow('model')
    await h.restart().conversations.load('c1'); await h.facts()
  })
  it('far times', async () => {
    const h = createHarness({ policy })
    for (const created_at of [1e18, 1_700_000_000_000_000, 253402300800000, '9999-12-31T23:59:59-10:00']) {
      const p = parseMessage({ role: 'user', content: 'x', created_at })
      if (E.isRight(p)) await h.append({ role: 'user', content: 'x', created_at })
    }
    await h.restart().conversations.load('c1'); await h.facts()
  })
  it('NaN', async () => {
    const h = createHarness({ policy })
    const nested = { url: 'a' }
    await h.append({ id: 'a', role: 'user', content: [{ type: 'image_url', image_url: nested, nan: Number.NaN, date: new Date(0), undef: undefined, f: () => 1 }], extra1: { a: undefined } } as MessageInput)
    nested.url = 'changed'
    expect(await h.conversations.load('c1')).toStrictEqual(await h.folded())
    await h.context()
  })
  it('bigint', () => {
    expect(E.isLeft(parseMessage({ role: 'user', content: 'x', big: 1n }))).toBe(true)
  })
  it('broken claim', () => {
    const [s] = storedEvents('c', [appended('a')])
    if (!s) throw new Error()
    expect(E.isLeft(decode({ ...s, data: '{"claimCheck":{"sha256":' }))).toBe(true)
    expect(claimOf({ data: '{"claimCheck":{"sha256":' })).toBeUndefined()
  })
  it('unknown outcome says what was recorded', async () => {
    const h = createHarness({ policy })
    h.store.faults.push('unknown-after')
    expect((await h.appended(say(0))).recorded).toEqual(['m0'])
  })
  it('proto', async () => {
    const h = createHarness({ policy })
    await h.appended(JSON.parse('{"id":"a","role":"user","content":[{"type":"x","__proto__":{"a":1}}],"__proto__":{"b":1},"e":{"__proto__":1}}') as MessageInput)
    expect(await h.conversations.load('c1')).toStrictEqual(await h.folded())
    console.log(JSON.stringify((await h.context()).messages), JSON.stringify((await h.factsOf('MessageAppended'))[0]?.data))
  })
  it('repeated messages, full history kept without ids', async () => {
    const h = createHarness({ policy })
    const texts = 'go on with the next part of the harbour work please '.repeat(5)
    let history: MessageInput[] = []
    for (let n = 0; n < 30; n += 1) {
      history = [...history, { role: n % 2 ? 'assistant' : 'user', content: texts }]
      await h.compress(history)
    }
    expect((await h.factsOf('MessageAppended')).length).toBe(30)
  })
  it('repeated messages, returned history kept without ids', async () => {
    const h = createHarness({ policy })
    const texts = 'go on with the next part of the harbour work please '.repeat(5)
    let history: readonly MessageInput[] = []
    for (let n = 0; n < 30; n += 1) {
      history = [...history, { role: n % 2 ? 'assistant' : 'user', content: texts }]
      history = (await h.compress(history)).history as MessageInput[]
    }
    expect((await h.factsOf('MessageAppended')).length).toBe(30)
    expect(h.problems).toEqual([])
  })
})
