/** The config file and the other sources of settings. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { notKnown } from '../../../domain/text/known-names.js'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import { codeOf, sentenceOf } from '../../../ports/store-error.js'
import { CONFIG_FILE, settings, type Flags } from '../flags.js'
import { badConfig, parseJson, readNamed } from './named-files.js'

export interface ConfigSources {
  readonly flags: Flags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/** Reduces repeated flags to their last value, like `command-args.ts`. */
export const lastValues = (flags: Flags): Flags =>
  Object.fromEntries(
    Object.entries(flags).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value) ? value.at(-1) : value,
    ]),
  )

const fileSchema = z.strictObject({
  ...Object.fromEntries(settings.map(({ key }) => [key, z.unknown().optional()])),
  policy: z.unknown().optional(),
})

export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
  readonly policy: unknown
}

export async function readConfigFile({ flags, cwd }: ConfigSources): Promise<ConfigFile | undefined> {
  const named = flags['config']
  const path = resolve(cwd, typeof named === 'string' ? named : CONFIG_FILE)
  const content =
    typeof named === 'string'
      ? await readNamed(named, cwd, '--config')
      : await readFile(path, 'utf8').catch((error: unknown) => {
          if (codeOf(error) === 'ENOENT') return undefined
          throw badConfig(path, `cannot be read: ${sentenceOf(error)}`)
        })
  if (content === undefined) return undefined
  const parsed = fileSchema.safeParse(parseJson(content, path))
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    if (issue?.code === 'unrecognized_keys') {
      const [unknown = ''] = issue.keys
      throw badConfig(
        `${path}:`,
        `"${unknown}" ${notKnown(unknown, [...settings.map(({ key }) => key), 'policy'], 'setting')}`,
      )
    }
    throw badConfig(`${path}:`, issueSentence(issue))
  }
  const { policy, ...values } = parsed.data
  return { path, values, policy }
}
