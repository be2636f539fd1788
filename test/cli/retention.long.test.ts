/** A story of retention on the command line: rules, a rejected erasure, a hold, a run, and the log of changes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { runCli } from '../support/cli.js'

let folder: string
const year = 31_536_000_000
const YEARS_AGO = new Date(Date.now() - 3 * year).toISOString()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retention-'))
  const ledger = await openLedger({ store: join(folder, 'store'), keys: join(folder, 'keys'), erasable: true })
  await ledger.append('old', [{ role: 'user', content: 'an old text', created_at: YEARS_AGO }], { scope: 'acme' })
  await ledger.append('held', [{ role: 'user', content: 'a held text', created_at: YEARS_AGO }], { scope: 'acme' })
  await ledger.append('new', [{ role: 'user', content: 'a new text' }], { scope: 'acme' })
  await ledger.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (...words: string[]) =>
  runCli([...words, '--store', join(folder, 'store'), '--keys', join(folder, 'keys'), '--resident', 'off'], {
    cwd: folder,
    env: { CONTEXT_LEDGER_ACTOR: 'ana@example.org' },
  })
const jsonOf = (text: string): unknown => JSON.parse(text)

it('keeps, holds, erases and reports', async () => {
  const rules = ['--keep-at-least', '6 months', '--erase-after', '2 years']
  expect(await run('retention', 'set', ...rules)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--reason'),
  })
  expect(await run('retention', 'set', ...rules, '--reason', 'policy 7')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('all conversations: keep at least 6 months, erase after 2 years'),
  })
  const refused = await run('erase', '--conversation', 'new', '--reason', 'request 1', '--yes')
  expect(refused.status).not.toBe(0)
  expect(refused.stderr).toContain('is kept at least 6 months by the rule of all conversations')
  expect(refused.stderr).toContain('--legal-basis')

  const placedHold = jsonOf((await run('retention', 'hold', 'held', '--reason', 'case 41', '--json')).stdout)
  expect(placedHold).toMatchObject({ conversationId: 'held', actor: 'ana@example.org', erasuresBegun: [] })
  expect((await run('retention', 'run', '--once')).stdout).toContain('nothing was erased: pass --yes to erase it')
  const status = jsonOf((await run('retention', 'status', '--json')).stdout)
  expect(status).toMatchObject({
    due: [{ conversationId: 'old' }],
    scopes: [{ conversations: 0 }, { scope: 'acme', conversations: 3, due: 1, onHold: 1 }],
  })
  expect(jsonOf((await run('retention', 'run', '--once', '--yes', '--json')).stdout)).toMatchObject({
    run: { receipt: { erased: [{ conversationId: 'old', messages: 1 }], kept: [] } },
  })
  expect((await run('context', 'old')).stdout).toContain('[erased]')
  expect((await run('context', 'held')).stdout).toContain('a held text')
  const text = (await run('retention', 'status')).stdout
  for (const part of ['hold ', 'case 41', 'last run:']) expect(text).toContain(part)
  const log = (await run('retention', 'log')).stdout
  for (const part of ['RetentionRulesSet', 'RetentionHoldPlaced', 'RetentionRunCompleted', 'ana@example.org'])
    expect(log).toContain(part)
  const basis = ['--legal-basis', 'GDPR 17(1)(d)']
  const erased = jsonOf(
    (await run('erase', '--conversation', 'new', '--reason', 'request 1', ...basis, '--yes', '--json')).stdout,
  )
  expect(erased).toMatchObject({ completed: [{ receipt: { legalBasis: 'GDPR 17(1)(d)' } }] })
  expect((await run('verify')).status).toBe(0)
})

it('says what a worker and a ledger that is not erasable cannot do', async () => {
  expect((await run('retention', 'run', '--yes')).stderr).toContain('is a directory')
  expect((await run('retention', 'run')).stderr).toContain('--once')
  const plain = (...words: string[]) =>
    runCli([...words, '--store', join(folder, 'plain'), '--resident', 'off'], { cwd: folder })
  const ledger = await openLedger({ store: join(folder, 'plain') })
  await ledger.append('talk', [{ role: 'user', content: 'x' }])
  await ledger.close()
  const setRule = await plain('retention', 'set', '--keep-at-least', '6 months', '--reason', 'r')
  expect(setRule).toMatchObject({ status: 0, stderr: expect.stringContaining('migrate-log --erasable') })
  const ceiling = await plain('retention', 'set', '--erase-after', '1 year', '--reason', 'r')
  expect(ceiling.status).not.toBe(0)
  expect(ceiling.stderr).toContain('migrate-log --erasable')
})
