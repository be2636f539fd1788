/** `import` of files with invalid messages. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli, type CliResult } from '../support/cli.js'
import { keepEngines } from '../support/kept-engines.js'

keepEngines()

describe('a file that cannot be imported', () => {
  let folder: string
  const run = async (...words: string[]): Promise<CliResult> =>
    await runCli(words, { cwd: folder, env: { HOME: folder } })
  const message = (content: string, over: object = {}): object => ({ role: 'user', content, ...over })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-whole-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  it('records nothing if it is one JSON value, whichever message is wrong', async () => {
    const lists: readonly (readonly [name: string, list: readonly object[], sentence: string])[] = [
      ['role', [message('one'), message('two'), { role: 'exit', content: 'three' }], 'role.json: [2]: role'],
      ['twice', [message('one', { id: 'a' }), message('two', { id: 'a' })], 'twice.json: [1]: has the id "a"'],
    ]
    for (const [name, list, sentence] of lists) {
      await writeFile(join(folder, `${name}.json`), JSON.stringify(list))
      const { status, stderr } = await run('import', `${name}.json`)
      expect([name, status]).toEqual([name, 2])
      expect(stderr).toContain(sentence)
      expect(stderr).toContain('nothing from this file was recorded')
    }
    const listed = await run('list', '--json')
    expect(listed.stdout).not.toMatch(/role|twice/u)
  })

  it('records nothing if it is a file of lines, and names the line', async () => {
    await writeFile(
      join(folder, 'lines.jsonl'),
      [message('one'), message('two'), { role: 'exit' }].map((each) => JSON.stringify(each)).join('\n'),
    )
    const { status, stderr } = await run('import', 'lines.jsonl')
    expect(status).toBe(2)
    expect(stderr).toContain('lines.jsonl:3: role')
    expect(stderr).toContain('nothing from this file was recorded')
    expect((await run('list', '--json')).stdout).not.toContain('lines')
  })

  it('is named for what it looks like', async () => {
    await writeFile(join(folder, 'utf16.jsonl'), Buffer.from('\uFEFF{"role":"user","content":"hi"}', 'utf16le'))
    const sessionId = 'session-041101e6-2a7f-4dfd-90b0-57888a353f6a'
    const record = { uuid: 'u1', sessionId, type: 'user', message: { role: 'user', content: 'hello' } }
    await writeFile(join(folder, 'iflow.jsonl'), `${JSON.stringify(record)}\n`)
    const utf16 = await run('import', 'utf16.jsonl')
    expect(utf16.stderr).toMatch(/utf16\.jsonl looks like text in UTF-16.*iconv/u)
    const iflow = await run('import', 'iflow.jsonl')
    expect(iflow.stderr).toMatch(
      /looks like a session of iFlow CLI, for which there is no importer.*claude-code, .*codex/u,
    )
  })
})
