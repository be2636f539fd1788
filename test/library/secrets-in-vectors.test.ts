/** Secrets do not reach the model of semantic search: neither with messages and summaries, nor with a query. */
import { expect, it } from '@jest/globals'
import { taskEither as TE } from 'fp-ts'
import type { EmbeddingModel } from '../../src/ports/embedding-model.js'
import { SMALL } from '../support/conversations.js'
import { ledgerOn } from '../support/ledger-on-database.js'
import { openTestDatabase } from '../support/memory-database.js'
import { MAKERS, randomFrom } from '../support/planted-secrets.js'

it('no planted secret is in a text that is embedded', async () => {
  const inputs: string[] = []
  const embedding: EmbeddingModel = {
    model: 'recording',
    embed: (texts) => {
      inputs.push(...texts)
      return TE.right(texts.map(() => [1, 0]))
    },
  }
  const random = randomFrom(34)
  const planted = MAKERS.map((make) => make(random))
  const db = await openTestDatabase()
  const ledger = await ledgerOn(db, { embedding, policy: SMALL })
  try {
    await ledger.append(
      'talk',
      planted.map(({ text }, at) => ({
        id: `m${String(at)}`,
        role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
        content: `Message ${String(at)} of the harbour has this: ${text}`,
      })),
    )
    await ledger.compact('talk')
    await ledger.admin.projections.catchUp()
    await ledger.admin.projections.fillVectors()
    const all = inputs.join('\n')
    expect(all).toContain('Message 0 of the harbour has this: [secret:')
    expect(all).toContain(`Message ${String(planted.length - 1)} of the harbour`)
    expect(planted.filter(({ secret }) => all.includes(secret)).map(({ kind }) => kind)).toEqual([])
  } finally {
    await ledger.close()
    await db.close()
  }
})
