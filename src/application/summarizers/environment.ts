/** The environment variables that configure a model, for the library and the command line. No imports: `--help` loads it. */

/** Our variable of a setting, and the one that is shared with other programs and used if ours is not set. */
export const MODEL_VARIABLES = {
  model: ['CONTEXT_LEDGER_MODEL', 'OPENAI_MODEL'],
  baseUrl: ['CONTEXT_LEDGER_BASE_URL', 'OPENAI_BASE_URL'],
  apiKey: ['CONTEXT_LEDGER_API_KEY', 'OPENAI_API_KEY'],
} as const

const valueOf = (env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined =>
  names.map((name) => env[name]).find((value) => value !== undefined && value !== '')

/** The values of the variables that are set. */
export function modelSettings(env: NodeJS.ProcessEnv): {
  readonly model: string | undefined
  readonly baseUrl?: string
  readonly apiKey?: string
} {
  const baseUrl = valueOf(env, MODEL_VARIABLES.baseUrl)
  const apiKey = valueOf(env, MODEL_VARIABLES.apiKey)
  return {
    model: valueOf(env, MODEL_VARIABLES.model),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  }
}
