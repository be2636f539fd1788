/** The summarizer that a configuration makes: its model, its prompt, and whom the summaries are for. */
import { access } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import type { SummarizerConfig } from '../../summarizers/index.js'
import { InputError } from '../errors.js'
import { printable } from '../output.js'
import type { Config } from './load-config.js'
import { badConfig, neighbour, readNamed } from './named-files.js'

/** Settings that say something to a model alone. */
const forModels = ['strategy', 'model', 'baseUrl', 'apiKey', 'windowTokens', 'timeout', 'prompt'] as const

export interface PromptSources {
  /** The name that a prompt from a file is recorded under; the file's own where it is left out. */
  readonly promptName?: string | undefined
  /** The prompt of this name in the registry of a ledger; asked for where there is no such file. */
  readonly registered?: (which: string) => Promise<{ readonly name: string; readonly text: string } | undefined>
}

/** The summarizer as it is configured; reads the prompt, from its file or from the registry. */
export async function summarizerOf(
  config: Config,
  prompts: PromptSources = {},
): Promise<'extractive' | SummarizerConfig> {
  if (config.summarizer === 'extractive') {
    // What the environment holds may be meant for others; a flag is meant for this very call.
    const idle = forModels.find((key) => config.origins[key]?.startsWith('--') === true)
    const apiToo =
      (idle === 'baseUrl' || idle === 'apiKey' || idle === 'timeout') && config.embeddingModel !== undefined
    if (idle !== undefined && !apiToo)
      throw badConfig(config.origins[idle] ?? idle, 'is for a summarizer with a model: give --summarizer openai too')
    return 'extractive'
  }
  if (config.model === undefined)
    throw new InputError(
      'BadConfig',
      'the summarizer’s model is missing: give --model, or set CONTEXT_LEDGER_MODEL or OPENAI_MODEL',
    )
  return {
    kind: 'openai',
    model: config.model,
    ...(config.strategy === undefined ? {} : { strategy: config.strategy }),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
    ...(config.windowTokens === undefined ? {} : { windowTokens: config.windowTokens }),
    ...(config.timeout === undefined ? {} : { timeoutMs: Math.max(1, Math.round(config.timeout * 1000)) }),
    ...(config.prompt === undefined ? {} : { prompt: await promptOf(config, config.prompt, prompts) }),
  }
}

async function promptOf(
  config: Config,
  given: string,
  { promptName, registered }: PromptSources,
): Promise<{ name: string; text: string }> {
  const path = resolve(config.baseOf('prompt'), given)
  const isFile = await access(path).then(
    () => true,
    () => false,
  )
  const known = isFile ? undefined : await registered?.(given)
  if (known !== undefined) return { name: known.name, text: known.text }
  const origin = config.origins['prompt'] ?? 'prompt'
  if (!isFile)
    throw badConfig(
      origin,
      `names ${path}, which does not exist${await neighbour(path)}${registered === undefined ? '' : `, and no prompt of this ledger has the name or the hash "${given}"; \`context-ledger prompts\` lists them`}`,
    )
  const template = await readNamed(given, config.baseOf('prompt'), origin)
  if (template.trim() === '') throw new InputError('BadConfig', `the prompt ${path} has no text`)
  return { name: promptName ?? (basename(path, extname(path)) || 'prompt'), text: template }
}

/**
 * A template is used as it is; one that shows no messages is paid for all the same: a sentence about it, where it is
 * so.
 */
export function blindPrompt(summarizer: 'extractive' | SummarizerConfig | undefined): string | undefined {
  if (
    typeof summarizer !== 'object' ||
    summarizer.kind !== 'openai' ||
    summarizer.prompt === undefined ||
    summarizer.prompt.text.includes('{messages}')
  )
    return undefined
  return `the prompt ${printable(summarizer.prompt.name)} has no {messages}: the model is asked for summaries of messages that it does not see`
}

/** Whom the summaries are for: a text, or `@FILE`. */
export async function personaOf(config: Config): Promise<string> {
  const { persona = '' } = config
  return persona.startsWith('@')
    ? (await readNamed(persona.slice(1), config.baseOf('persona'), config.origins['persona'] ?? 'persona')).trim()
    : persona
}
