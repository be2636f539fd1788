/** `migrate-log --erasable`: the same conversations, in which every text is encrypted. */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runMigrateLog } from '../../src/interfaces/cli/migrate/migrate-log.js'
import * as places from '../../src/library/compose.js'
import { SMALL } from '../support/conversations.js'
import { shinglesInFiles } from '../support/shingles.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

jest.setTimeout(300_000)

const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach'
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'convert-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('a converted log is proven, readable and erasable; converting it again adds nothing', async () => {
  const [from, to, keys] = [join(folder, 'plain'), join(folder, 'erasable'), join(folder, 'keys')]
  const plain = await places.openLedger({ store: from, policy: SMALL })
  await plain.append(
    'talk',
    Array.from({ length: 24 }, (_none, at) => ({
      id: `m${String(at)}`,
      role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: at === 3 ? SECRET : `number ${String(at)} ${'and so on '.repeat(at === 5 ? 9_000 : 20)}`,
    })),
  )
  await plain.compact('talk')
  const before = await plain.context('talk')
  const originalEvents = []
  for await (const { type } of plain.log('talk')) originalEvents.push(type)
  await plain.close()
  const command = { from, to, fromDatabase: undefined, toDatabase: undefined, overwrite: false, json: true }
  await runMigrateLog({ ...command, keys, erasable: true }, places)
  await runMigrateLog({ ...command, keys, erasable: true }, places)
  const ledger = await places.openLedger({ store: to, keys })
  expect((await ledger.context('talk')).messages).toEqual(before.messages)
  const events = []
  for await (const { type } of ledger.log('talk')) events.push(type)
  expect(events).toEqual(originalEvents)
  expect((await ledger.admin.verify()).problems).toEqual([])
  await ledger.admin.erasure.run({ conversationId: 'talk', messageId: 'm3' }, { reason: 'r' })
  expect((await ledger.admin.verify()).problems).toEqual([])
  await ledger.close()
  expect(await shinglesInFiles(to, SECRET)).toEqual([])
  expect((await shinglesInFiles(from, SECRET)).length).toBeGreaterThan(0)
  // Erased texts do not come back.
  await expect(runMigrateLog({ ...command, keys, erasable: true }, places)).rejects.toMatchObject({
    kind: 'TargetDiffers',
  })
})
