/** The model with which opencode continues a session: one that its user has set up. */
import { parse } from 'jsonc-parser'
import { join } from 'node:path'
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { agentFolders, type Environment } from '../../lib/user-folders.js'
import type { ProgramDirectory } from '../session.js'
import { modelNames } from './provider-of.js'

/** A model as opencode records it. */
export interface OpencodeModel {
  readonly providerID: string
  readonly modelID: string
}

/** Variables with a key of a provider, by the name of the provider. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
}

type Read = ProgramDirectory['read']

/** A file with JSON, in which comments are allowed; empty if it is missing. */
async function fieldsIn(path: string, read: Read): Promise<Readonly<Record<string, unknown>>> {
  const text = await read(path)
  const value: unknown = text === undefined ? undefined : parse(text, [], { allowTrailingComma: true })
  return isRecord(value) ? value : {}
}

/** `provider/model`; the model may have slashes. */
function named(value: unknown): OpencodeModel | undefined {
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/u.exec(textIn(value) ?? '') ?? []
  return providerID === undefined || modelID === undefined ? undefined : { providerID, modelID }
}

/** The model that was used last. */
function recentIn(state: Readonly<Record<string, unknown>>): OpencodeModel | undefined {
  const [last]: readonly unknown[] = Array.isArray(state['recent']) ? state['recent'] : []
  const providerID = isRecord(last) ? textIn(last['providerID']) : undefined
  const modelID = isRecord(last) ? textIn(last['modelID']) : undefined
  return providerID === undefined || modelID === undefined ? undefined : { providerID, modelID }
}

/** The files with settings, the most specific first. */
const settingsFiles = (cwd: string, environment: Environment, settings: string): readonly string[] => [
  ...[environment['OPENCODE_CONFIG']].flatMap((path) => (path === undefined || path === '' ? [] : [path])),
  ...[cwd, settings].flatMap((directory) => ['opencode.jsonc', 'opencode.json'].map((name) => join(directory, name))),
]

/**
 * The model of the settings, else the one that was used last, else the model of the session if its provider is set up.
 * Undefined if there is none.
 * @param model the last model of the session
 */
export async function opencodeModel(
  directory: ProgramDirectory,
  cwd: string,
  model: string | undefined,
): Promise<OpencodeModel | undefined> {
  const { path, user } = directory
  if (user === undefined) return undefined
  const read: ProgramDirectory['read'] = async (file) => await directory.read(file)
  const { environment, home } = user
  const settings: Readonly<Record<string, unknown>>[] = []
  for (const file of settingsFiles(cwd, environment, agentFolders.opencodeSettings(environment, home)))
    settings.push(await fieldsIn(file, read))
  const chosen = settings.map((each) => named(each['model'])).find((each) => each !== undefined)
  if (chosen !== undefined) return chosen
  const recent = recentIn(await fieldsIn(join(agentFolders.opencodeState(environment, home), 'model.json'), read))
  if (recent !== undefined) return recent
  const { provider } = modelNames(model)
  const logins = await fieldsIn(join(path, 'auth.json'), read)
  const isSetUp =
    provider in logins ||
    settings.some(({ provider: all }) => isRecord(all) && provider in all) ||
    (KEYS[provider] ?? []).some((key) => (environment[key] ?? '') !== '')
  return model === undefined || !isSetUp ? undefined : { providerID: provider, modelID: model }
}
