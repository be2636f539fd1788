/** `transcripts.receive`: items from another machine, in an erasable ledger. */
import { expect, it } from '@jest/globals'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { plainContentId } from '../../src/importers/content-id.js'
import { markedContentId } from '../../src/importers/pushed-ids.js'
import { openLedger } from '../../src/index.js'
import type { TranscriptItem } from '../../src/importers/transcript.js'

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
