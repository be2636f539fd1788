/** `secrets scan` over events that were recorded without redaction, and what `verify` says about them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { openLedger } from '../../src/index.js'
import { runCli } from '../support/cli.js'
import { plantedSecrets } from '../support/planted-secrets.js'
import { startTestService } from '../support/service.js'
import { longTest } from '../support/length.js'

let folder: string
const [secret = { text: '', kind: '', secret: '' }] = plantedSecrets(1, 3)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scan-'))
  const ledger = await openLedger({ store: join(folder, 'store'), policy: { chunkSize: 2, chunkMinTokens: 0 } })
  await ledger.append('open', [{ id: 'm1', role: 'user', content: `the key is ${secret.text}` }], {
    policy: { redaction: 'off' },
  })
  const { revision, hash } = await ledger.context('open')
  const call = { id: 'c1', type: 'function', function: { name: 'memory_read', arguments: '{}' } } as const
  await ledger.append('open', [
    {
      id: 'm2',
      role: 'assistant',
      content: 'thank you',
      answers: { revision: String(revision), hash },
      tool_calls: [call],
    },
    { id: 'm3', role: 'tool', tool_call_id: 'c1', content: `again: ${secret.text}` },
    { id: 'm4', role: 'assistant', content: 'found it' },
  ])
  // An answer whose context does not have the secret any more, and one that never had it.
  await ledger.amend('open', { withdraw: ['m1', 'm2', 'm3', 'm4'], append: [{ role: 'user', content: 'new' }] })
  await ledger.append('open', { id: 'm6', role: 'assistant', content: 'fine' })
  await ledger.append(
    'titled',
    { role: 'user', content: `the key is ${secret.text}` },
    { policy: { redaction: 'off' } },
  )
  await ledger.append('closed', { role: 'user', content: `the key is ${secret.text}` })
  await ledger.close()
  const service = await startTestService({ store: join(folder, 'store'), keys: true })
  const key = await service.key(['append', 'read'])
  for (const path of ['open/context', 'closed/context']) await service.ask(`/v1/conversations/${path}`, { key })
  await service.append('closed', [{ role: 'user', content: 'more' }], { key })
  await service.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (...words: string[]) => runCli([...words, '--store', join(folder, 'store')], { cwd: folder })
const scanned = z.object({
  conversations: z.number(),
  secrets: z.array(
    z.object({
      conversationId: z.string(),
      kind: z.string(),
      fingerprint: z.string(),
      places: z.array(z.looseObject({ revision: z.string(), messageId: z.string().optional() })),
      seenBy: z.looseObject({}),
      requests: z.array(z.unknown()),
    }),
  ),
})

it('finds what was recorded without redaction, and exits with 4', async () => {
  const { status, stdout } = await run('secrets', 'scan', '--all', '--json')
  expect(status).toBe(4)
  expect(stdout).not.toContain(secret.secret)
  const { conversations, secrets } = scanned.parse(JSON.parse(stdout))
  expect(conversations).toBe(3)
  expect(secrets.filter(({ conversationId }) => conversationId === 'open')).toMatchObject([
    {
      conversationId: 'open',
      kind: secret.kind,
      places: [{ messageId: 'm1' }, { messageId: 'm3' }],
      seenBy: {
        contexts: [
          { answerId: 'm2', isNamed: true },
          { answerId: 'm4', isNamed: false },
        ],
        summaries: [],
        toolResults: [{ messageId: 'm3', tool: 'memory_read' }],
      },
      requests: [{ route: 'getContext', conversationId: 'open' }],
    },
  ])
  expect(JSON.stringify(secrets)).not.toContain('m6')
  const context = await run('context', 'closed')
  expect(context.stdout).toContain(`[secret:${secret.kind}:${secrets[0]?.fingerprint ?? ''}]`)
})

it('says it in words', async () => {
  const { status, stdout } = await run('secrets', 'scan', 'open')
  expect(status).toBe(4)
  expect(stdout).toMatch(
    new RegExp(String.raw`^${secret.kind} [0-9a-f]{4} in open "new"\n  recorded at revision 1 \(message m1\)`, 'u'),
  )
})

longTest('prints no title with a secret', async () => {
  const { stdout } = await run('secrets', 'scan', 'titled')
  expect(stdout).toContain(`in titled "the key is [secret:${secret.kind}:`)
  expect(stdout).not.toContain(secret.secret)
})

it('exits with 0 if there are none', async () => {
  expect(await run('secrets', 'scan', 'closed')).toMatchObject({ status: 0, stdout: 'no secrets in 1 conversation\n' })
})

it.each([[['secrets', 'scan']], [['secrets', 'scan', 'open', '--all']]])('refuses %j', async (words) => {
  expect(await run(...words)).toMatchObject({ status: 2, stderr: expect.stringContaining('--all') })
})

longTest('is visible in verify', async () => {
  const { status, stdout } = await run('verify')
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^redaction off open "new": /mu)])
  expect(JSON.parse((await run('verify', '--json')).stdout)).toMatchObject({ redactionOff: ['open', 'titled'] })
})
