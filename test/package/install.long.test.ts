/**
 * The package as a stranger gets it: npm installs the tarball from the registry into an empty directory, on a machine
 * with an empty HOME and without a checkout. A KurrentDB or a model needs only the tarball.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { COMPACTED_SESSIONS, RULE } from '../support/compacted-sessions.js'
import { jsonAs } from '../support/json.js'
import { startWireServer } from '../support/kurrentdb/server.js'
import { startOpenAiStub, stubAnswers, stubFlags } from '../support/openai-stub.js'

const MOST_BYTES = 60_000_000

/** Settings of npm that say how the registry is reached. Others could hide a warning. */
const REGISTRY = /^npm_config_(?:registry|cafile|cache|globalconfig|userconfig|proxy|https_proxy|noproxy)$/iu
const PROJECT = /^(?:npm_|NODE_OPTIONS$|CONTEXT_LEDGER_|OPENAI_)/u

interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

let root: string
let folder: string
let env: NodeJS.ProcessEnv
let tarball: string

/** The program of npm that runs this test. On Windows, the command itself is a script of the shell. */
const npm = process.env['npm_execpath'] ?? ''
const runNpm = (args: readonly string[], cwd?: string): Promise<Run> => run(process.execPath, [npm, ...args], cwd)

/** Runs a command in the directory of the stranger. */
async function run(program: string, args: readonly string[], cwd = folder): Promise<Run> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { status, ...output }
}

const ledger = (...words: readonly string[]): Promise<Run> =>
  run(process.execPath, [
    join('node_modules', 'context-ledger', 'dist', 'src', 'interfaces', 'cli', 'main.js'),
    ...words,
  ])

/** Bytes on the disk, as `du` counts them. */
async function sizeOf(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { recursive: true }))
    bytes += (await lstat(join(directory, entry))).blocks * 512
  return bytes
}

let installed: Run

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'context-ledger-stranger-'))
  const home = join(root, 'home')
  folder = join(root, 'project')
  await mkdir(home)
  await mkdir(folder)
  env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => REGISTRY.test(name) || !PROJECT.test(name))),
    HOME: home,
    USERPROFILE: home,
    npm_config_loglevel: 'notice',
    npm_config_update_notifier: 'false',
  }
  const packed = await runNpm(['pack', '--ignore-scripts', '--pack-destination', root], process.cwd())
  tarball = join(root, packed.stdout.trim().split('\n').at(-1) ?? '')
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  installed = await runNpm(['install', tarball])
  const { file, after } = claudeSession()
  await mkdir(join(home, '.claude', 'projects', '-srv'), { recursive: true })
  await writeFile(join(home, '.claude', 'projects', '-srv', file), after)
}, 300_000)

afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})

function claudeSession() {
  const session = COMPACTED_SESSIONS['claude-code']?.('0e7f6f3a-6a5b-4a53-8a9e-5d4b1f6d1c11', '2026-03-10')
  if (session === undefined) throw new Error('no session of Claude Code')
  return session
}

describe('an installation of the tarball in an empty directory', () => {
  it('prints no warning, and takes at most 60 MB', async () => {
    expect(installed).toMatchObject({ status: 0 })
    expect(installed.stderr).not.toMatch(/warn|deprecated|EBADENGINE/iu)
    expect(await sizeOf(join(folder, 'node_modules'))).toBeLessThanOrEqual(MOST_BYTES)
  })

  it('runs the command, and every entry point that needs no package of an SDK', async () => {
    const { version } = jsonAs<{ version: string }>(await readFile('package.json', 'utf8'))
    expect(await ledger('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
    const paths = ['', '/client', '/proxy', '/claude-agent-sdk']
    const imports = paths.map((path) => `await import('context-ledger${path}')`).join('; ')
    expect(await run(process.execPath, ['--input-type=module', '-e', imports])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('uses a KurrentDB without another package', async () => {
    const server = await startWireServer()
    try {
      const store = ['--store', server.connectionString, '--database', join(root, 'rows')]
      await writeFile(join(folder, 'chat.jsonl'), `${JSON.stringify({ role: 'user', content: RULE })}\n`)
      expect(await ledger('import', 'chat.jsonl', ...store)).toMatchObject({ status: 0 })
      const verified = await ledger('verify', ...store)
      expect(verified).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok: .*1 conversation/u) })
    } finally {
      await server.close()
    }
  })

  it('asks a model without another package', async () => {
    const stub = await startOpenAiStub(stubAnswers.text('The crane is red.'))
    try {
      const policy = ['--model-max-tokens', '2000', '--chunk-min-tokens', '0']
      const messages = Array.from({ length: 60 }, (_none, at) => ({
        role: 'user',
        content: `message ${String(at)} `.repeat(20),
      }))
      await writeFile(join(folder, 'long.jsonl'), messages.map((each) => `${JSON.stringify(each)}\n`).join(''))
      const store = ['--store', join(root, 'with-model')]
      const { status } = await ledger('import', 'long.jsonl', ...store, ...policy, ...stubFlags(stub.baseUrl))
      expect(status).toBe(0)
      expect(stub.calls.length).toBeGreaterThan(0)
    } finally {
      await stub.close()
    }
  })
})

describe('npx with the tarball alone', () => {
  it('shows what a session in HOME lost, without a warning', async () => {
    const empty = join(root, 'empty')
    await mkdir(empty)
    await cp(tarball, join(empty, 'context-ledger.tgz'))
    const npx = (...words: readonly string[]): Promise<Run> =>
      run(process.execPath, [join(dirname(npm), 'npx-cli.js'), '--yes', './context-ledger.tgz', ...words], empty)
    const { status, stdout, stderr } = await npx('start', '--yes')
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(`rule lost: ${RULE}`) })
    expect(stderr).not.toMatch(/warn|deprecated|EBADENGINE/iu)
  })
})
