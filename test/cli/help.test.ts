/** The help of a command, and what follows an error. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { flagsOfCommand } from '../../src/interfaces/cli/command.js'
import { commands, groups } from '../../src/interfaces/cli/commands/index.js'
import { settings, settingsFor } from '../../src/interfaces/cli/flags.js'
import { helpOf } from '../../src/interfaces/cli/parser.js'
import { runCli } from '../support/cli.js'

const everyCommand = [
  ...commands.map((command) => ({ path: command.words.split(' ')[0] ?? '', command })),
  ...groups.flatMap((group) =>
    group.commands.map((command) => ({ path: `${group.word} ${command.words.split(' ')[0] ?? ''}`, command })),
  ),
]

describe.each(everyCommand)('$path --help', ({ path, command }) => {
  it('lists its own options first, and the settings that it uses', async () => {
    const help = await helpOf([...path.split(' '), '--help'])
    const listed = [...help.matchAll(/^ {2,}(?:-\w, )?--([a-z-]+)/gmu)].map(([, flag = '']) => flag)
    const commandFlags = Object.keys(await flagsOfCommand(command))
    expect(listed.slice(0, commandFlags.length).toSorted()).toEqual(commandFlags.toSorted())
    const used = new Set(settingsFor(command.uses).map(({ flag }) => flag))
    for (const { flag } of settings)
      expect([flag, listed.includes(flag)]).toEqual([flag, used.has(flag) || commandFlags.includes(flag)])
  })

  it('shows every example as one line', async () => {
    const lines = (await helpOf([...path.split(' '), '--help'])).split('\n')
    for (const [typed] of command.examples ?? [])
      expect(lines).toContain(`  ${typed.replaceAll('$0', 'context-ledger')}`)
  })
})

describe('the hint after an error', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'context-ledger-help-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it.each([
    { words: ['search'], hint: '`context-ledger search --help` shows its flags and examples.' },
    { words: ['editions', 'show'], hint: '`context-ledger editions show --help` shows its flags and examples.' },
    { words: ['serach'], hint: '`context-ledger --help` lists the commands.' },
    { words: ['context', 'a', '--model', 'b'], hint: '`context-ledger context --help` shows its flags and examples.' },
  ])('names the help for $words', async ({ words, hint }) => {
    const { status, stderr } = await runCli(words, { cwd: folder })
    expect([status, stderr.trimEnd().split('\n').at(-1)]).toEqual([2, hint])
  })

  it.each([['import', 'missing.jsonl'], ['list'], ['search', '--queries', 'missing.jsonl']])(
    'does not follow an error of a file: %s %s',
    async (...words) => {
      const { status, stderr } = await runCli(words, { cwd: folder })
      expect(status).toBe(2)
      expect(stderr).toMatch(/^error: [^\n]+\n$/u)
    },
  )
})
