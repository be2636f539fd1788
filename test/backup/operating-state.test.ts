/** State that is not in the log, in a copy: service keys, the key for fingerprints, and spending. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createOperatingState } from '../../src/adapters/postgres/operating-state.js'
import { migrateLog } from '../../src/adapters/postgres/schema.js'
import { createPostgresKeyStore } from '../../src/adapters/postgres/service-keys.js'
import { createPostgresSecretsKey } from '../../src/adapters/postgres/secrets-key.js'
import type { Database } from '../../src/ports/sql.js'
import { openTestDatabase } from '../support/memory-database.js'

describe('the state beside a log', () => {
  let from: Database
  let to: Database
  beforeEach(async () => {
    ;[from, to] = await Promise.all([openTestDatabase(), openTestDatabase()])
    await Promise.all([migrateLog(from), migrateLog(to)])
  })
  afterEach(async () => {
    await Promise.all([from.close(), to.close()])
  })
  const copy = async (): Promise<void> => createOperatingState(to).add(await createOperatingState(from).read())

  it('is the same in the copy: keys stay valid, and fingerprints of a secret are equal', async () => {
    await createPostgresKeyStore(from).add({
      id: 'k1',
      name: 'agents',
      hash: 'h1',
      roles: ['append', 'read'],
      bound: { prefix: 'team-' },
    })
    await from.query(`insert into compaction_tokens values ('day', '2026-01-01', 700)`)
    await from.query(`insert into edition_spending (edition_id, prompt_tokens, completion_tokens) values ('e1', 5, 7)`)
    const secret = await createPostgresSecretsKey(from)()
    await copy()
    await copy()
    expect(await createPostgresKeyStore(to).list()).toEqual(await createPostgresKeyStore(from).list())
    expect(await createPostgresSecretsKey(to)()).toEqual(secret)
    expect(await createOperatingState(to).read()).toEqual(await createOperatingState(from).read())
  })

  it('keeps a key revoked that was revoked in either store, and counts the higher spending', async () => {
    const [source, target] = [createPostgresKeyStore(from), createPostgresKeyStore(to)]
    for (const id of ['a', 'b']) await source.add({ id, name: id, hash: id, roles: ['read'], bound: undefined })
    await from.query(`insert into compaction_tokens values ('day', '2026-01-01', 700)`)
    await copy()
    await source.revoke('a')
    await target.revoke('b')
    await to.query('update compaction_tokens set used = 900')
    await copy()
    for (const id of ['a', 'b']) expect(await target.find(id)).toMatchObject({ revokedAt: expect.any(String) })
    expect(await to.query('select used::text from compaction_tokens')).toEqual([{ used: '900' }])
  })
})
