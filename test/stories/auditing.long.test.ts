/** The commands of docs/guides/auditing.md, one by one: the program prints the output that the page shows. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnCli } from '../support/cli.js'

jest.setTimeout(240_000)

/** A command of the page and its output lines, each up to its ellipsis. */
interface Example {
  readonly command: string
  readonly lines: readonly string[]
}

const beforeEllipsis = (line: string): string =>
  line.lastIndexOf('…') > 0 ? line.slice(0, line.lastIndexOf('…')).trimEnd() : line

function examplesOf(page: string): Example[] {
  const walk = page.slice(0, page.indexOf('## What `verify` proves'))
  const examples: { command: string; lines: string[] }[] = []
  for (const [, language, block = ''] of walk.matchAll(/```(sh|console)\n(.*?)```/gsu)) {
    for (const line of block.trimEnd().split('\n')) {
      if (language === 'sh') examples.push({ command: line, lines: [] })
      else if (line.startsWith('$ ')) examples.push({ command: line.slice(2), lines: [] })
      else if (line !== '' && line !== '…') examples.at(-1)?.lines.push(beforeEllipsis(line))
    }
  }
  return examples
}

const words = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/gu)].map(([, single, double, bare]) => single ?? double ?? bare ?? '')

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-ledger-audit-'))
  await mkdir(join(folder, 'examples'))
  await copyFile('examples/sample-conversation.jsonl', join(folder, 'examples', 'sample-conversation.jsonl'))
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

describe('docs/guides/auditing.md', () => {
  it('shows the output of the program', async () => {
    const steps = examplesOf(await readFile('docs/guides/auditing.md', 'utf8'))
    expect(steps.length).toBeGreaterThan(9)
    for (const { command, lines } of steps) {
      const echoed = /^echo '(.*)' > (\S+)$/u.exec(command)
      if (echoed !== null) {
        await writeFile(join(folder, echoed[2] ?? ''), echoed[1] ?? '')
        continue
      }
      const [program, ...rest] = words(command)
      expect(program).toBe('context-ledger')
      const { status, stdout, stderr } = await spawnCli(rest, { cwd: folder })
      expect({ command, status, stderr: status === 0 ? '' : stderr }).toEqual({ command, status: 0, stderr: '' })
      const printed = stdout.split('\n')
      const missing = lines.filter((line) => !printed.some((each) => each.startsWith(line)))
      expect({ command, missing }).toEqual({ command, missing: [] })
    }
  })
})
