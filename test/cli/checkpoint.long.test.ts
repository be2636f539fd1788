/** An operator signs a log and publishes it; an auditor verifies against it; a stranger gets evidence. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { verifierKeyOf } from '../../src/domain/proof/checkpoint.js'
import { openLedger } from '../../src/index.js'
import { runCli } from '../support/cli.js'
import { hasPython, verifyIndependently } from '../support/independent-verifier.js'

let folder: string
const STORE = 'store'

async function say(content: string): Promise<void> {
  const ledger = await openLedger({ store: join(folder, STORE), workers: 'inside' })
  await ledger.append('run-7', { role: 'user', content })
  await ledger.append('run-7', { role: 'assistant', content: `You said: ${content}` })
  await ledger.close()
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'checkpoint-'))
  await say('one')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (...words: string[]) => runCli([...words, '--store', join(folder, STORE)], { cwd: folder })
const succeeds = async (...words: string[]): Promise<string> => {
  const { status, stdout, stderr } = await run(...words)
  if (status !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`)
  return stdout
}
const refused = async (...words: string[]): Promise<string> => {
  const { status, stdout, stderr } = await run(...words)
  expect(status).not.toBe(0)
  return stdout + stderr
}

it('from the key to evidence', async () => {
  const { fingerprint } = z
    .object({ fingerprint: z.string() })
    .parse(JSON.parse(await succeeds('verify', '--new-key', 'operator.pem', '--json')))
  expect(await refused('checkpoint', 'create')).toContain('checkpoint create needs a key')
  expect(await refused('checkpoint', 'publish', '--to', 'a.checkpoint')).toContain('has no checkpoint')
  expect(await succeeds('checkpoint', 'list')).toContain('no checkpoints')
  expect(await refused('evidence', 'run-7', '--html', 'e.html')).toContain('checkpoint create')

  const monday = await succeeds('checkpoint', 'create', '--key', 'operator.pem')
  await writeFile(join(folder, 'monday.checkpoint'), monday)
  expect(monday.split('\n')[0]).toMatch(/^context-ledger\/[0-9a-f]{64}$/u)
  const verifies = ['verify', '--against', 'monday.checkpoint', '--public-key', fingerprint]
  expect(await succeeds(...verifies)).toContain(`signed by ${fingerprint}: the same events in the same order`)

  // A witness that another program runs, and a time stamp service.
  const { privateKey } = generateKeyPairSync('ed25519')
  const witness = verifierKeyOf('witness.example/w', privateKey, 'cosignature')
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(1_760_000_000n)
  const body = monday.slice(0, monday.indexOf('\n\n') + 1)
  const cosigned = sign(null, Buffer.from(`cosignature/v1\ntime 1760000000\n${body}`), privateKey)
  const line = `— ${witness.name} ${Buffer.concat([Buffer.from(witness.keyId, 'hex'), time, cosigned]).toString('base64')}`
  await writeFile(join(folder, 'witness.txt'), `${line}\n`)
  expect(await refused('checkpoint', 'publish')).toContain('--to FILE')
  expect(await refused('checkpoint', 'publish', '--run', 'exit 7')).toContain('status 7')
  await succeeds(
    'checkpoint',
    'publish',
    '--witness',
    'cat witness.txt',
    '--time-stamp',
    'wc -c',
    '--to',
    'a.checkpoint',
  )
  expect(await readFile(join(folder, 'a.checkpoint'), 'utf8')).toBe(`${monday}${line}\n`)
  expect((await readFile(join(folder, 'a.checkpoint.tsr'), 'utf8')).trim()).toBe(String(Buffer.byteLength(monday)))
  const cosignedVerify = await succeeds(
    'verify',
    '--against',
    'a.checkpoint',
    '--public-key',
    'operator.pem',
    '--witness',
    witness.text,
  )
  expect(cosignedVerify).toContain('cosigned by witness.example/w at 2025-10-09T08:53:20.000Z')
  expect(await refused('verify', '--against', 'monday.checkpoint', '--witness', witness.text)).toContain(
    'no cosignature',
  )

  await say('two')
  const { stdout, stderr } = await run(...verifies)
  expect(stdout + stderr).toContain('2 events after the checkpoint')
  await succeeds('checkpoint', 'create', '--key', 'operator.pem')
  expect((await run(...verifies)).stderr).toContain('this is not the newest checkpoint')
  await succeeds('checkpoint', 'publish', '--to', 'a.checkpoint')
  expect(await refused('checkpoint', 'publish', monday.split('\n')[1] ?? '', '--to', 'a.checkpoint')).toContain(
    'newer checkpoint',
  )
  expect(await refused('checkpoint', 'publish', '--to', 'operator.pem')).toContain('not a checkpoint of this log')

  expect(await succeeds('evidence', 'run-7', '--at', '1', '--html', 'e.html')).toMatch(/^e\.html: \d+ events/u)
  expect(await refused('evidence', 'run-7', '--html', 'e.html')).toContain('already exists')
  expect(await refused('evidence', 'run-7')).toContain('--html FILE')
  const file = await readFile(join(folder, 'e.html'))
  expect(hasPython ? verifyIndependently([file]) : ['valid']).toEqual(['valid'])
})

it('names the error in a checkpoint', async () => {
  const monday = await readFile(join(folder, 'monday.checkpoint'), 'utf8')
  await writeFile(join(folder, 'changed.checkpoint'), monday.replace(/\n(\d+)\n/u, '\n1$1\n'))
  expect(await refused('verify', '--against', 'changed.checkpoint')).toContain('was changed after it was signed')
  await writeFile(join(folder, 'other.checkpoint'), 'Hello.\n')
  expect(await refused('verify', '--against', 'other.checkpoint')).toContain('is no signed note')
  await succeeds('verify', '--new-key', 'other.pem')
  expect(await refused('verify', '--against', 'monday.checkpoint', '--public-key', 'other.pem')).toContain(
    'the required key',
  )
  const { status, stdout } = await runCli(
    ['verify', '--against', 'monday.checkpoint', '--public-key', 'operator.pem', '--store', join(folder, 'another')],
    { cwd: folder, ...(await makeAnother()) },
  )
  expect(status).toBe(4)
  expect(stdout).toContain('it is another log')
})

async function makeAnother(): Promise<object> {
  const ledger = await openLedger({ store: join(folder, 'another') })
  await ledger.append('run-7', { role: 'user', content: 'one' })
  await ledger.close()
  return {}
}
