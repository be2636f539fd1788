/** The configured summarizer: model, prompt and persona. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { access } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import type { SummarizerConfig } from '../../../application/summarizers/index.js'
import { printable } from '../output.js'
import type { Config } from './load-config.js'
import { badConfig, similarFile, readNamed } from './named-files.js'

/** Settings that only apply to a summarizer with a model. */
const MODEL_SETTINGS = ['strategy', 'model', 'baseUrl', 'apiKey', 'windowTokens', 'timeout', 'prompt'] as const

/** `--timeout` (seconds) as a model option, for summaries and embeddings. */
export const timeLimitOf = ({ timeout }: Config): { readonly timeoutMs?: number } =>
  timeout === undefined ? {} : { timeoutMs: Math.max(1, Math.round(timeout * 1000)) }

export interface PromptSources {
  /** Name under which a prompt file is recorded; default: the file name. */
  readonly promptName?: string | undefined
  /** Finds a prompt recorded in the ledger. Called if no file has the name. */
  readonly findPrompt?: (which: string) => Promise<{ readonly name: string; readonly text: string } | undefined>
}

/** The configured summarizer. Reads the prompt from its file or from the ledger. */
export async function summarizerOf(
  config: Config,
  prompts: PromptSources = {},
): Promise<'extractive' | SummarizerConfig> {
  if (config.summarizer === 'extractive') {
    // Values from the environment may be for other commands; a flag is for this call.
    const unused = MODEL_SETTINGS.find((key) => config.origins[key]?.startsWith('--') === true)
    const isForEmbeddings =
      (unused === 'baseUrl' || unused === 'apiKey' || unused === 'timeout') && config.embeddingModel !== undefined
    if (unused !== undefined && !isForEmbeddings)
      throw badConfig(config.origins[unused] ?? unused, 'requires a summarizer with a model: add --summarizer openai')
    return 'extractive'
  }
  if (config.model === undefined)
    throw new LedgerError(
      'BadConfig',
      'no summarizer model is configured: pass --model, or set CONTEXT_LEDGER_MODEL or OPENAI_MODEL',
    )
  return {
    kind: 'openai',
    model: config.model,
    ...(config.strategy === undefined ? {} : { strategy: config.strategy }),
    ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
    ...(config.apiKey === undefined ? {} : { apiKey: config.apiKey }),
    ...(config.windowTokens === undefined ? {} : { windowTokens: config.windowTokens }),
    ...timeLimitOf(config),
    ...(config.prompt === undefined ? {} : { prompt: await promptOf(config, config.prompt, prompts) }),
  }
}

/**
 * A prompt from a file, or a recorded prompt by name or hash. Throws `LedgerError` if neither exists or the file is
 * empty.
 * @param reference a path relative to the directory of the setting, or a name
 */
export async function promptOf(
  config: Config,
  reference: string,
  { promptName, findPrompt }: PromptSources,
): Promise<{ name: string; text: string }> {
  const path = resolve(config.baseOf('prompt'), reference)
  const isFile = await access(path).then(
    () => true,
    () => false,
  )
  const recorded = isFile ? undefined : await findPrompt?.(reference)
  if (recorded !== undefined) return { name: recorded.name, text: recorded.text }
  const origin = config.origins['prompt'] ?? 'prompt'
  if (!isFile)
    throw badConfig(
      origin,
      `names ${path}, which does not exist${await similarFile(path)}${findPrompt === undefined ? '' : `, and the ledger has no prompt "${reference}"; \`context-ledger prompts\` lists the prompts`}`,
    )
  const template = await readNamed(reference, config.baseOf('prompt'), origin)
  if (template.trim() === '') throw new LedgerError('BadConfig', `the prompt ${path} is empty`)
  return { name: promptName ?? (basename(path, extname(path)) || 'prompt'), text: template }
}

/** A warning if the prompt template has no `{messages}`. Such a template is used, but its model calls are wasted. */
export function warningForPrompt(summarizer: 'extractive' | SummarizerConfig | undefined): string | undefined {
  if (
    typeof summarizer !== 'object' ||
    summarizer.kind !== 'openai' ||
    summarizer.prompt === undefined ||
    summarizer.prompt.text.includes('{messages}')
  )
    return undefined
  return `the prompt ${printable(summarizer.prompt.name)} has no {messages}, so the model does not see the messages that it summarizes`
}

/** The persona: a text, or the content of `@FILE`. */
export async function personaOf(config: Config): Promise<string> {
  const { persona = '' } = config
  return persona.startsWith('@')
    ? (await readNamed(persona.slice(1), config.baseOf('persona'), config.origins['persona'] ?? 'persona')).trim()
    : persona
}
