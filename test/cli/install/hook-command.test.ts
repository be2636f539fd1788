/** Shell commands of hooks: under every POSIX shell here, the input arrives, and the agent is never failed or delayed. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { HookMode } from '../../../src/interfaces/cli/install/agent-program.js'
import { hookCommand } from '../../../src/interfaces/cli/install/hook-command.js'
import { notesFolder } from '../../../src/interfaces/cli/hook/hook-folder.js'
import { isLong } from '../../support/length.js'

const SHELLS = ['/bin/sh', 'dash', 'bash', 'zsh', 'ksh', 'mksh', 'yash', 'busybox'].filter(
  (shell) => spawnSync(shell, [...(shell === 'busybox' ? ['sh'] : []), '-c', ':']).status === 0,
)
/** A hook that stores its input, and prints a note unless it runs in the background. */
const HOOK = `
let text = ''
process.stdin.on('data', (data) => (text += data))
process.stdin.on('end', () => {
  const [folder, agent, mode] = process.argv.slice(2)
  require('node:fs').writeFileSync(folder + '/draft', agent + ' ' + text)
  require('node:fs').renameSync(folder + '/draft', folder + '/arrived')
  if (mode === undefined) process.stdout.write('a note')
})`

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hook-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, maxRetries: 5 })
})

async function start(
  shell: string,
  command: string,
  input: string,
): Promise<{ status: number | null; output: string }> {
  const child = spawn(shell, [...(shell === 'busybox' ? ['sh'] : []), '-c', command])
  let output = ''
  child.stdout.on('data', (data) => (output += String(data)))
  child.stderr.on('data', (data) => (output += String(data)))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  await once(child, 'close')
  return { status: child.exitCode, output }
}

const modes = fc.constantFrom<HookMode>('background', 'waits', 'guarded')
const shells = fc.constantFrom(...SHELLS)
/** Directories with characters that shells treat in a special way. */
const names = fc.array(fc.constantFrom('a', 'é', ' ', "'", '"', '$HOME', '`', '\\', ';', '&', '(', '*', '!', '#'), {
  minLength: 1,
  maxLength: 5,
})
const inputs = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('x'.repeat(200_000), '{"a":"\\n"}'))
/** Bytes that a pipe holds. A program in Node.js closes its end when the shell exits, which is at once in the background. */
const PIPE_BYTES = 65_536
let cases = 0

async function installed(name: readonly string[]): Promise<{ folder: string; file: string }> {
  const folder = join(home, String((cases += 1)), name.join(''))
  await mkdir(notesFolder(folder), { recursive: true })
  const file = join(folder, 'hook.cjs')
  await writeFile(file, HOOK)
  return { folder, file }
}

describe(`under ${SHELLS.join(', ')}`, () => {
  it('the input arrives', async () => {
    await fc.assert(
      fc.asyncProperty(shells, modes, names, inputs, async (shell, mode, name, text) => {
        const input = mode === 'background' ? text.slice(0, PIPE_BYTES - 1_000) : text
        const { folder, file } = await installed(name)
        const ended = await start(shell, hookCommand([process.execPath, file, folder], 'codex', mode), input)
        expect(ended).toEqual({ status: 0, output: mode === 'background' ? '' : 'a note' })
        while (!existsSync(join(folder, 'arrived'))) await delay(10)
        expect(await readFile(join(folder, 'arrived'), 'utf8')).toBe(`codex ${input}`)
      }),
      { numRuns: isLong ? 300 : 4 },
    )
  })

  it('nothing is printed and the status is 0 without Node.js, the file, the directory or an input', async () => {
    const losses = fc.constantFrom('node', 'file', 'folder', 'no input')
    await fc.assert(
      fc.asyncProperty(shells, modes, names, losses, async (shell, mode, name, loss) => {
        const { folder, file } = await installed(name)
        const node = loss === 'node' ? join(folder, 'no node') : process.execPath
        const words = [node, loss === 'file' ? `${file}.gone` : file, folder] as const
        if (loss === 'folder') await rm(folder, { recursive: true })
        const { status, output } = await start(shell, hookCommand(words, 'codex', mode), '')
        expect({ status, output: loss === 'no input' ? '' : output }).toEqual({ status: 0, output: '' })
      }),
      { numRuns: isLong ? 300 : 4 },
    )
  })
})
