/** Erasure in a folder: erased texts are in no file, and everything else stays unchanged. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../src/library/ledger.js'
import { openLedger } from '../../src/library/compose.js'
import { shinglesInFiles } from '../support/shingles.js'

jest.setTimeout(300_000)

const SECRET = 'Ursula Zwickel lives at Quellenweg 17 in Bad Wurzach, born 4 March 1961'
const OTHER = 'The harbour crane needs a new winch before Thursday.'

describe('a whole conversation', () => {
  let folder: string
  let ledger: Ledger
  const open = () => openLedger({ store: join(folder, 'ledger'), keys: join(folder, 'keys'), erasable: true })
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'erase-'))
    ledger = await open()
  })
  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('is nowhere after its erasure', async () => {
    await ledger.append('person', [
      { role: 'user', content: SECRET },
      { role: 'assistant', content: `Noted: ${SECRET}` },
    ])
    await ledger.append('crane', [{ role: 'user', content: OTHER }])
    await ledger.admin.projections.catchUp()
    expect((await ledger.search('winch', { conversationId: 'crane' })).hits).toHaveLength(1)
    const before = await ledger.context('person')
    expect(JSON.stringify(before.messages)).toContain(SECRET)
    expect(await ledger.admin.erasure.plan({ conversationId: 'person' })).toMatchObject([
      { conversationId: 'person', summaries: 0 },
    ])
    const [done] = await ledger.admin.erasure.run({ conversationId: 'person' }, { reason: 'request 12' })
    expect(done?.receipt).toMatchObject({ messages: 2, filesCleaned: true })
    expect((await ledger.context('person')).messages).toEqual([
      { role: 'user', content: '[erased]' },
      { role: 'assistant', content: '[erased]' },
    ])
    expect((await ledger.context('crane')).messages).toEqual([{ role: 'user', content: OTHER }])
    await expect(ledger.append('person', [{ role: 'user', content: 'again' }])).rejects.toMatchObject({
      kind: 'ConversationErased',
    })
    const verified = await ledger.admin.verify()
    expect(verified.problems).toEqual([])
    await ledger.close()
    expect(await shinglesInFiles(folder, SECRET)).toEqual([])
    ledger = await open()
    expect((await ledger.context('person')).messages).toHaveLength(2)
    expect((await ledger.admin.verify()).problems).toEqual([])
  })
})
