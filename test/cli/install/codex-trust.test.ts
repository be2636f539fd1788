/** Whether Codex runs the installed hooks, by its table of trust. */
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Addition } from '../../../src/interfaces/cli/install/installation.js'
import { untrustedHooks } from '../../../src/interfaces/cli/install/codex-trust.js'

const top = mkdtempSync(join(tmpdir(), 'codex-trust-'))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(top, 'home-'))
})
afterAll(() => {
  rmSync(top, { recursive: true })
})

type Hook = Readonly<Record<string, unknown>>
const group = (hook: Hook, matcher?: string) => ({
  ...(matcher === undefined ? {} : { matcher }),
  hooks: [{ type: 'command', ...hook }],
})

/** Hooks with their keys and hashes, as the method `hooks/list` of Codex 0.171.0 returned them. */
const KNOWN = [
  [
    'PostToolUse',
    group({ command: 'echo', timeout: 30, statusMessage: 'x' }, '*'),
    'post_tool_use',
    'bb7307f7c062594812f95ce93b31c9f7faf9fe744bd9bf1401dcb30f3d25adb3',
  ],
  [
    'PreCompact',
    group({ command: 'other' }),
    'pre_compact',
    '82f68052f3747da2f39024a04075e43e0317813de72696db4eee6940c3b50c18',
  ],
  [
    'SessionStart',
    group({ command: 'echo hi', timeout: 5 }, 'compact'),
    'session_start',
    '237c472c2f276e5cf40e34ed412738959aa1220fbd3d7d07795daecdad0db83f',
  ],
  [
    'UserPromptSubmit',
    group({ command: 'echo é' }, ''),
    'user_prompt_submit',
    '56488d26658d47857afce57d610f97b20788bd7863981d8bdc0614fae49572e3',
  ],
] as const

/** The problem with the hooks of `hooks.json`, with this trust in `config.toml`. */
function problemOf(
  hooks: Readonly<Record<string, readonly unknown[]>>,
  trust: string | undefined,
  file = join(folder, 'hooks.json'),
): string | undefined {
  writeFileSync(file, JSON.stringify({ hooks }))
  if (trust !== undefined) writeFileSync(join(folder, 'config.toml'), trust)
  const additions: readonly Addition[] = Object.keys(hooks).map((event) => ({
    kind: 'json',
    file,
    isStrict: true,
    path: ['hooks', event],
    value: KNOWN.find(([name]) => name === event)?.[1],
    isItem: true,
  }))
  return untrustedHooks(additions)
}

const all = Object.fromEntries(KNOWN.map(([event, value]) => [event, [value]]))
const table = (
  event: string,
  hash: string,
  { file = join(folder, 'hooks.json'), place = '0:0', rest = '' } = {},
): string => `[hooks.state.${JSON.stringify(`${file}:${event}:${place}`)}]\ntrusted_hash = "sha256:${hash}"\n${rest}\n`
const tables = (): string => KNOWN.map(([, , event, hash]) => table(event, hash)).join('')

const [[, tool, , toolHash]] = KNOWN
const HEAD = 'model = "x"\n\n[hooks.state]\n\n'

describe('hooks of Codex', () => {
  it('run if the table has the hash that Codex computes for each', () => {
    expect(problemOf(all, HEAD + tables())).toBeUndefined()
    // As a user writes TOML.
    const literal = (HEAD + tables()).replaceAll(/\["?|(?<=state\.)"|"\]/gu, (each) =>
      each === '"]' ? "']" : each === '"' ? "'" : each,
    )
    expect(problemOf(all, literal.replaceAll('\n', '\r\n').replaceAll('"\r\n', '" # mine\r\n'))).toBeUndefined()
  })

  it('are counted by why they do not run', () => {
    expect(problemOf(all, undefined)).toBe('Codex does not run 4 hooks that you have not trusted: type /hooks in Codex')
    const mixed =
      HEAD +
      table('post_tool_use', toolHash, { rest: 'enabled = false\n' }) +
      table('pre_compact', '0') +
      table('session_start', KNOWN[2][3])
    expect(problemOf(all, mixed)).toBe(
      'Codex does not run 1 hook that you have not trusted, and Codex does not run 1 hook whose form is not the one that you trusted, and Codex does not run 1 hook that you switched off: type /hooks in Codex',
    )
  })

  it('have the place of their group, and of the hook in it', () => {
    const otherGroup = group({ command: 'other' })
    const shared = { ...tool, hooks: [...otherGroup.hooks, ...tool.hooks] }
    for (const [groups, place] of [
      [[otherGroup, tool], '1:0'],
      [[shared], '0:1'],
    ] as const) {
      expect(problemOf({ PostToolUse: groups }, table('post_tool_use', toolHash, { place }))).toBeUndefined()
      expect(problemOf({ PostToolUse: groups }, table('post_tool_use', toolHash))).toContain(
        'that you have not trusted',
      )
    }
  })

  it('are found if the directory of Codex is a link', () => {
    const link = join(top, 'link')
    symlinkSync(folder, link)
    const trust = table('post_tool_use', toolHash)
    expect(problemOf({ PostToolUse: [tool] }, trust, join(link, 'hooks.json'))).toBeUndefined()
  })

  it('are not called trusted if the trust cannot be read, or the hook was changed', () => {
    const unknown = 'whether Codex runs 1 hook could not be checked: type /hooks in Codex'
    const key = JSON.stringify(`${join(folder, 'hooks.json')}:post_tool_use:0:0`)
    for (const trust of [
      `[hooks.state]\n${key} = { trusted_hash = "sha256:${toolHash}" }\n`,
      `[hooks]\nstate.${key}.trusted_hash = "sha256:${toolHash}"\n`,
    ])
      expect(problemOf({ PostToolUse: [tool] }, trust)).toBe(unknown)
    const trust = table('post_tool_use', toolHash)
    expect(problemOf({ PostToolUse: [group({ command: 'mine' }, '*')] }, trust)).toBe(unknown)
    expect(problemOf({ PostToolUse: [group({ command: 'echo', timeout: 31 }, '*')] }, trust)).toContain(
      'whose form is not',
    )
  })
})
