/** Erased messages that come again: with a transcript that has grown, and with the list of a host. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openLedger } from '../../src/library/compose.js'
import type { Ledger } from '../../src/library/ledger.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

const SECRET = 'Ursula Zwickel lives at Quellenweg 17'

let ledger: Ledger
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'again-'))
  ledger = await openLedger({ store: 'memory', erasable: true, keys: createMemoryKeyVault() })
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true, force: true })
})

const textOf = async (conversationId: string, of = ledger): Promise<string> => {
  const parts: unknown[] = [await of.context(conversationId)]
  for await (const event of of.log(conversationId)) parts.push(event)
  return JSON.stringify(parts)
}

it('a transcript that has grown: only its new record is recorded', async () => {
  const sessionId = '0b5fa1f4-0000-4000-8000-000000000001'
  const uuid = (at: number) => `0b5fa1f4-0000-4000-8000-10000000000${String(at)}`
  const record = (at: number, text: string) =>
    `${JSON.stringify({
      type: at % 2 === 0 ? 'user' : 'assistant',
      uuid: uuid(at),
      parentUuid: at === 0 ? null : uuid(at - 1),
      sessionId,
      timestamp: new Date(Date.UTC(2026, 0, 1, 10, at)).toISOString(),
      isSidechain: false,
      userType: 'external',
      cwd: '/home/someone/project',
      version: '2.0.0',
      message: { role: at % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text }] },
    })}\n`
  const file = join(folder, `${sessionId}.jsonl`)
  await writeFile(file, record(0, SECRET) + record(1, 'noted'))
  const [imported] = (await ledger.transcripts.import(file)).conversations
  const conversationId = imported?.conversationId ?? ''
  expect(await textOf(conversationId)).toContain(SECRET)
  const ids: string[] = []
  for await (const { type, data } of ledger.log(conversationId))
    if (type === 'MessageAppended') ids.push(data.messageId)
  await ledger.admin.erasure.run({ conversationId, messageId: ids[0] ?? '' }, { reason: 'r' })
  await appendFile(file, record(2, 'and what else?'))
  const [again] = (await ledger.transcripts.import(file)).conversations
  expect(again).toMatchObject({ messages: 1, known: 2 })
  const text = await textOf(conversationId)
  expect(text).not.toContain('Ursula')
  expect(text).toContain('and what else?')
  expect((await ledger.admin.verify()).problems).toEqual([])
})

it('the list of a host, which still has the erased message, in a new process', async () => {
  const places = { store: join(folder, 'ledger'), keys: join(folder, 'keys'), erasable: true }
  const list = [
    { role: 'user' as const, content: SECRET },
    { role: 'assistant' as const, content: 'noted' },
  ]
  const first = await openLedger(places)
  await first.compress(list, 'talk')
  const [message] = (await first.messages('talk')).messages
  await first.admin.erasure.run({ conversationId: 'talk', messageId: message?.messageId ?? '' }, { reason: 'r' })
  await first.close()
  await using again = await openLedger(places)
  const answer = await again.compress([...list, { role: 'user', content: 'and what else?' }], 'talk')
  expect(answer.error).toBeUndefined()
  const text = await textOf('talk', again)
  expect(text).not.toContain('Ursula')
  expect((await again.messages('talk')).messages.map(({ content }) => content)).toEqual([
    '[erased]',
    'noted',
    'and what else?',
  ])
  expect((await again.admin.verify()).problems).toEqual([])
})
