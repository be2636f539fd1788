/** An edition that was made after an erasure, of several conversations. */
import { expect, it } from '@jest/globals'
import { openLedger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'

it('catches up in a conversation without an erasure, and is adopted there', async () => {
  const ledger = await openLedger({ store: 'memory', erasable: true, policy: { ...SMALL, maxSummaryTokens: 100 } })
  for (const id of ['erased', 'other']) {
    await ledger.append(id, talk(30))
    await ledger.compact(id)
  }
  const conversations = ['erased', 'other']
  const { editionId: former } = await ledger.editions.replay({ conversations })
  await ledger.admin.erasure.run({ conversationId: 'erased', messageId: 'm1' }, { reason: 'r' })
  const { editionId } = await ledger.editions.replay({ conversations })
  expect(editionId).not.toBe(former)
  await ledger.append('other', talk(60).slice(30))
  expect(await ledger.editions.adopt('other', editionId)).toMatchObject({ changed: true })
  expect((await ledger.admin.verify()).problems).toEqual([])
  await ledger.close()
})
