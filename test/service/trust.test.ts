/** Erasure, retention and proofs over HTTP, through the remote ledger and through plain requests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createMemoryKeyVault } from '../../src/adapters/memory/key-vault.js'
import { openRemoteLedger } from '../../src/interfaces/client/index.js'
import { signDraft } from '../../src/domain/proof/checkpoint.js'
import type { Ledger } from '../../src/index.js'
import { createTestClock } from '../support/harness.js'
import { startTestService, type TestService } from '../support/service.js'

/** The test's clock begins at 2026-01-01. */
const OLD = '2025-06-30T12:00:00.000Z'
const WAIT = { prefer: 'wait=20' }

/** A remote ledger that reaches the service in this process. */
const remoteOf = (at: TestService, key: string): Ledger =>
  openRemoteLedger({
    url: 'http://127.0.0.1',
    key,
    fetch: async (input, init) =>
      await at.service.app.request(input instanceof Request ? input : String(input), init, {}),
  })

describe('an erasable ledger', () => {
  let at: TestService
  let operator: string
  let remote: Ledger
  beforeAll(async () => {
    at = await startTestService({
      keys: true,
      ledger: { erasable: true, keys: createMemoryKeyVault(), clock: createTestClock() },
    })
    operator = await at.key(['append', 'read', 'audit', 'operate'])
    remote = remoteOf(at, operator)
    await at.append(
      'mine',
      [{ id: 'm1', role: 'user', content: 'the berth of Ines', created_at: OLD, subjects: ['ines'] }],
      {
        key: operator,
      },
    )
    for (const id of ['talk', 'old', 'held'])
      await at.append(
        id,
        [
          { id: 'm1', role: 'user', content: `a first text of ${id}`, created_at: OLD },
          { id: 'm2', role: 'user', content: `a second text of ${id}`, created_at: OLD },
        ],
        { key: operator },
      )
  })
  afterAll(async () => {
    await remote.close()
    await at.close()
  })

  const contents = async (id: string): Promise<unknown> =>
    (await remote.context(id)).messages.map(({ content }) => content)

  it('erases a message after its plan; the receipt names the key of the request', async () => {
    const path = '/v1/conversations/talk'
    const body = { messageId: 'm1' }
    const plan = await at.ask(`${path}/erasure-plans`, { key: operator, body })
    expect(plan.body.planned).toMatchObject([{ conversationId: 'talk', messages: ['m1'] }])
    expect(await contents('talk')).toEqual(['a first text of talk', 'a second text of talk'])
    const erased = await at.ask(`${path}/erasures`, {
      key: operator,
      headers: WAIT,
      body: { ...body, reason: 'asked' },
    })
    expect(erased.body).toMatchObject({
      state: 'succeeded',
      result: [{ conversationId: 'talk', receipt: { messages: 1 } }],
    })
    expect(await contents('talk')).toEqual(['[erased]', 'a second text of talk'])
    expect(await remote.admin.erasure.receipts('talk')).toMatchObject([
      { scope: 'message', reason: 'asked', actor: 'key:append-read-audit-operate', receipt: { messages: 1 } },
    ])
  })

  it('erases a person in all conversations, and resumes nothing afterwards', async () => {
    expect(await remote.admin.erasure.plan({ subject: 'ines' })).toMatchObject([
      { conversationId: 'mine', messages: ['m1'] },
    ])
    const finished = await remote.admin.erasure.run({ subject: 'ines' }, { reason: 'GDPR 17' })
    expect(finished).toMatchObject([{ conversationId: 'mine' }])
    expect(await contents('mine')).toEqual(['[erased]'])
    expect(await remote.admin.erasure.resume()).toEqual([])
  })

  it('refuses in one sentence: no reason, an unknown message, an unknown conversation, a role that may not', async () => {
    const path = '/v1/conversations/talk/erasures'
    expect((await at.ask(path, { key: operator, body: {} })).body).toMatchObject({ status: 400, kind: 'BadRequest' })
    expect((await at.ask(path, { key: operator, body: { reason: 'x', messageId: 'none' } })).body).toMatchObject({
      kind: 'NoSuchMessage',
    })
    expect((await at.ask('/v1/conversations/none/erasures', { key: operator, body: { reason: 'x' } })).status).toBe(404)
    const auditor = await at.key(['audit'])
    expect((await at.ask(path, { key: auditor, body: { reason: 'x' } })).body).toMatchObject({ kind: 'RoleMissing' })
  })

  it('keeps rules and holds, and a run erases what is due except what is held', async () => {
    const { retention } = remote.admin
    await retention.set({ eraseAfter: '90 days' }, { reason: 'policy 7' })
    const { holdId } = await retention.hold({ conversationId: 'held' }, { reason: 'case 7' })
    expect((await retention.status()).due.map(({ conversationId }) => conversationId)).toContain('old')
    const run = await retention.run()
    expect(run?.receipt.erased.map(({ conversationId }) => conversationId)).toContain('old')
    expect(await contents('held')).toEqual(['a first text of held', 'a second text of held'])
    await retention.release(holdId, { reason: 'closed' })
    expect((await retention.history()).map(({ type }) => type)).toEqual([
      'RetentionRulesSet',
      'RetentionHoldPlaced',
      'RetentionRunStarted',
      'RetentionRunCompleted',
      'RetentionHoldReleased',
    ])
    expect((await retention.run())?.receipt.erased).toMatchObject([{ conversationId: 'held' }])
    expect(await retention.run()).toBeUndefined()
    expect((await remote.admin.verify()).problems).toEqual([])
  })

  it('writes no evidence, which would be a copy that an erasure does not reach', async () => {
    await expect(remote.admin.proofs.evidence('talk')).rejects.toMatchObject({ kind: 'EvidenceOfErasable' })
  })
})

describe('proofs', () => {
  const { privateKey: key } = generateKeyPairSync('ed25519')
  let at: TestService
  let remote: Ledger
  beforeAll(async () => {
    at = await startTestService({ keys: true })
    remote = remoteOf(at, await at.key(['append', 'read', 'audit', 'operate']))
  })
  afterAll(async () => {
    await remote.close()
    await at.close()
  })

  it('a checkpoint is signed by the client, and the log is verified against it', async () => {
    const { proofs } = remote.admin
    await remote.append('talk', { id: 'm1', role: 'user', content: 'where is my berth?' })
    const first = await proofs.createCheckpoint({ key })
    await remote.append('talk', { id: 'm2', role: 'assistant', content: 'in row C' })
    const second = await proofs.createCheckpoint({ key })
    expect(await proofs.checkpoints()).toEqual([first, second])
    expect(await at.ledger.admin.proofs.checkpoints()).toEqual([first, second])
    const verified = await remote.admin.verify(undefined, {
      checkpoint: { note: first.note, signer: createPublicKey(key) },
    })
    expect(verified).toMatchObject({ ok: true, problems: [], checkpoint: { size: first.size } })
    expect(await proofs.consistency(first.size)).toEqual(await at.ledger.admin.proofs.consistency(first.size))
    expect(await proofs.inclusion('talk', 1)).toEqual(await at.ledger.admin.proofs.inclusion('talk', 1))
    expect(await proofs.evidence('talk')).toEqual(await at.ledger.admin.proofs.evidence('talk'))
  })

  it('a draft that another key signed, or that states another root, is not stored', async () => {
    const { proofs } = remote.admin
    const draft = await proofs.draftCheckpoint()
    const [stored] = await proofs.checkpoints()
    await expect(
      proofs.storeCheckpoint({
        note: stored?.note.replace(`\n${String(stored.size)}\n`, '\n1\n') ?? '',
        verifierKey: stored?.verifierKeys[0] ?? '',
      }),
    ).rejects.toMatchObject({ kind: 'OtherSigner' })
    const root = Buffer.alloc(32, 7).toString('base64')
    const otherRoot = signDraft({ ...draft, text: draft.text.replace(draft.root, root) }, key)
    await expect(proofs.storeCheckpoint(otherRoot)).rejects.toMatchObject({
      kind: 'NoCheckpoint',
      message: expect.stringContaining('did not have the stated root'),
    })
    await expect(proofs.storeCheckpoint({ note: draft.text, verifierKey: 'none' })).rejects.toMatchObject({
      kind: 'NoCheckpoint',
    })
    const withoutKey = remoteOf(at, 'none')
    await expect(withoutKey.admin.proofs.checkpoints()).rejects.toMatchObject({ kind: 'KeyRefused' })
    await withoutKey.close()
    expect((await proofs.checkpoints()).length).toBe(2)
  })
})
