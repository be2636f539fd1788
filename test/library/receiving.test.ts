/** `transcripts.receive`: items from another machine, in an erasable ledger. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { plainContentId } from '../../src/application/importers/content-id.js'
import { markedContentId } from '../../src/application/importers/pushed-ids.js'
import { importers } from '../../src/application/importers/index.js'
import { openLedger } from '../../src/index.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { isLong } from '../support/length.js'

const idOf = markedContentId((text) => text)
const where = { file: 'a.traj.json' }
const ITEMS: readonly TranscriptItem[] = [
  { kind: 'conversation', sourceId: idOf('Which berth?'), where },
  {
    kind: 'message',
    sourceId: idOf('Which berth?'),
    part: 0,
    body: { role: 'user', content: 'Which berth?' },
    where,
  },
]

it('has no id that confirms a guess of a text, and records nothing twice, also after an erasure', async () => {
  await using ledger = await openLedger({ store: 'memory', erasable: true, keys: createMemoryKeyVault() })
  const receive = async (): Promise<{ readonly id: string; readonly messages: number; readonly known: number }> => {
    const transcript = await ledger.transcripts.receive({ from: 'mini-swe-agent', actor: 'key:alice' })
    const [recorded] = await transcript.record(ITEMS)
    const { conversationId = '', messages = 0, known = 0 } = recorded ?? {}
    return { id: conversationId, messages, known }
  }
  const first = await receive()
  expect(first.messages).toBe(1)
  let log = ''
  for await (const event of ledger.log(first.id)) log += JSON.stringify(event)
  expect(`${first.id} ${log}`).not.toContain(plainContentId('Which berth?'))
  expect(await receive()).toEqual({ id: first.id, messages: 0, known: 1 })
  await ledger.admin.erasure.run({ conversationId: first.id }, { reason: 'requested' })
  expect(await receive()).toEqual({ id: first.id, messages: 0, known: 1 })
  expect((await ledger.admin.verify()).ok).toBe(true)
})

/** A session of a program, with one message. */
const session = (sourceId: string, content: string, parent?: string): readonly TranscriptItem[] => [
  {
    kind: 'conversation',
    sourceId,
    where,
    ...(parent === undefined ? {} : { parent: { sourceId: parent, how: 'sub-agent' } }),
  },
  { kind: 'message', sourceId: 'm1', part: 0, body: { role: 'user', content }, where },
]

it('records the same session id of two scopes in two conversations', async () => {
  await using ledger = await openLedger({ store: 'memory' })
  const SCOPES = [undefined, 'a', 'b', 'a/b', 'ü%2Fb']
  for (const [at, { program }] of importers.entries()) {
    const ids = new Set<string>()
    // Two scopes of a third of the programs, and one of the others. Each scope is tried with some.
    const scopes = isLong ? SCOPES : [SCOPES[at % 5], ...(at % 3 === 0 ? [SCOPES[(at + 1) % 5]] : [])]
    for (const scope of scopes) {
      const options = { from: program, ...(scope === undefined ? {} : { scope }) }
      for (const known of [0, 1]) {
        const transcript = await ledger.transcripts.receive(options)
        const recorded = await transcript.record(session('s1', `of ${String(scope)}`))
        expect(recorded).toMatchObject([{ known, messages: 1 - known }])
        ids.add(recorded[0]?.conversationId ?? '')
      }
      const child = await (await ledger.transcripts.receive(options)).record(session('s2', 'a part', 's1'))
      const parents: unknown[] = []
      for await (const { type, data } of ledger.log(child[0]?.conversationId ?? ''))
        if (type === 'ConversationObserved') parents.push(data.parent?.conversationId)
      expect([...ids]).toEqual(expect.arrayContaining(parents))
      expect(parents).toHaveLength(1)
    }
    expect(ids.size).toBe(scopes.length)
  }
})

it('takes a conversation for the session that its scope began without its name in the id, as up to 0.11.0', async () => {
  await using ledger = await openLedger({ store: 'memory' })
  await ledger.append('codex/s1', { role: 'user', content: 'Which berth?' }, { scope: 'a' })
  const receive = async (scope: string): Promise<unknown> =>
    await (await ledger.transcripts.receive({ from: 'codex', scope })).record(session('s1', 'And when?'))
  await expect(receive('a')).rejects.toMatchObject({ details: { conversationId: 'codex/s1' } })
  expect(await receive('b')).toMatchObject([{ conversationId: 'codex/scope:b/s1', messages: 1 }])
})
