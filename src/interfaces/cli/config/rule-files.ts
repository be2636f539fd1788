/** Reads the rule files that a command names. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import type { RuleFile } from '../../../library/ledger.js'
import { badConfig, similarFile } from './named-files.js'

const MOST_BYTES = 1_000_000

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a directory',
  ELOOP: 'is a symbolic link that leads to itself',
  EACCES: 'cannot be read: permission denied',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
}

/** The bytes of a file that is no larger than a rule file. */
async function bytesOf(path: string): Promise<Uint8Array> {
  // Without the flag, a named pipe would wait for a writer. Windows has no such flag.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await handle.stat()
    if (stats.isDirectory()) throw badConfig('--rules', `names ${path}, which is a directory`)
    if (!stats.isFile()) throw badConfig('--rules', `names ${path}, which is not a file`)
    if (stats.size > MOST_BYTES)
      throw badConfig('--rules', `names ${path}, which has more than 1 MB: name a file with rules only`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Reads a rule file. Errors name it. */
async function readRuleFile(name: string): Promise<RuleFile> {
  if (name.trim() === '') throw badConfig('--rules', 'needs a file name')
  const path = resolve(name)
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(await bytesOf(path)) }
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined) throw error
    const reason = REASONS[code] ?? `cannot be read: ${sentenceOf(error)}`
    throw badConfig('--rules', `names ${path}, which ${reason}${code === 'ENOENT' ? await similarFile(path) : ''}`)
  }
}

/** The rule files, each once. */
export const ruleFilesOf = async (names: readonly string[]): Promise<readonly RuleFile[]> =>
  await Promise.all([...new Set(names)].map(readRuleFile))
