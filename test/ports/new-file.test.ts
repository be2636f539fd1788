/** A new file is written atomically and never overwrites another one. */
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeNewFile } from '../../src/ports/new-file.js'

const top = mkdtempSync(join(tmpdir(), 'new-file-'))
let folder: string
let tests = 0

beforeEach(async () => {
  folder = join(top, String((tests += 1)))
  await mkdir(folder)
})
afterAll(async () => {
  await rm(top, { recursive: true })
})

const text = (value: string) => async (): Promise<string> => await Promise.resolve(value)
const failing = async (): Promise<never> => await Promise.reject(new Error('no such cycle'))

describe('a new file', () => {
  it('has the whole text, is readable by its owner only, and leaves no draft', async () => {
    const file = join(folder, 'a.html')
    expect(await writeNewFile(file, text('whole é'))).toBe(8)
    expect(await readFile(file, 'utf8')).toBe('whole é')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['a.html'])
  })

  it('does not exist if its text cannot be made, or if a step before its publication fails', async () => {
    await expect(writeNewFile(join(folder, 'b.html'), failing)).rejects.toThrow('no such cycle')
    await expect(writeNewFile(join(folder, 'b.html'), text('b'), failing)).rejects.toThrow('no such cycle')
    expect(await readdir(folder)).toEqual([])
  })

  it('has its text under another name before it is published', async () => {
    let before: readonly string[] = []
    await writeNewFile(join(folder, 'a.jsonl'), text('whole'), async () => {
      for (const name of await readdir(folder)) before = [...before, name, await readFile(join(folder, name), 'utf8')]
    })
    expect(before).toEqual([expect.stringMatching(/^a\.jsonl\.[0-9a-f]{8}\.part$/u), 'whole'])
  })

  it('never replaces a file: one that exists is an error before anything is made, a later one after it', async () => {
    const file = join(folder, 'c.html')
    let calls = 0
    const make = async (): Promise<string> => {
      calls += 1
      await writeFile(file, 'of another process')
      return 'ours'
    }
    await expect(writeNewFile(file, make)).rejects.toMatchObject({ kind: 'FileExists' })
    await expect(writeNewFile(file, make)).rejects.toMatchObject({ kind: 'FileExists' })
    expect(calls).toBe(1)
    expect(await readFile(file, 'utf8')).toBe('of another process')
    expect(await readdir(folder)).toEqual(['c.html'])
  })

  it('that cannot be written is an error before anything is made, which names the file only', async () => {
    let calls = 0
    const make = async (): Promise<string> => await Promise.resolve(String((calls += 1)))
    const file = join(folder, 'missing', 'a.html')
    await expect(writeNewFile(file, make)).rejects.toMatchObject({
      kind: 'FileUnusable',
      message: expect.stringMatching(/missing\/a\.html cannot be written: [^']*no such file or directory$/u),
    })
    expect(calls).toBe(0)
  })
})
