/** What of the model's window is not the conversation's: tools that go with each request, and the answer. */
import { either as E } from 'fp-ts'
import { checkId } from '../domain/values/ids.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import { modelWindow } from '../ports/model-windows.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { Asked } from './api.js'
import { jsonText } from './json.js'

/** Reserves go up in steps, so that a tool more or less seldom changes what is recorded. */
const STEP_TOKENS = 256

/** Of the window, the most that is kept for the answer: a client may ask for more than it has use for. */
const OUTPUT_SHARE = 4

/**
 * Of the window, what is kept free for what stands around the messages in a request (ids, types, marks), and because an
 * estimate is no count. Sixty items of the Responses API came to 900 tokens more in JSON than by the estimator.
 */
const FORM_SHARE = 12

/** The settings that a request asks for; what the user fixed goes over them. */
export function reservesOf(asked: Asked, fixed: PolicySettings | undefined): PolicySettings {
  const { tools, maxTokens } = asked
  // A server of one model may be asked for none (`""`), and any server by a name that no model has.
  const isName = asked.model !== undefined && E.isRight(checkId('model', asked.model))
  const model = isName ? asked.model : undefined
  const window = fixed?.modelMaxTokens ?? modelWindow(model)
  const text = tools.length === 0 ? '' : jsonText(tools)
  const systemReserve = Math.ceil((defaultEstimator.text(text) + tools.length * 8) / STEP_TOKENS) * STEP_TOKENS
  const outputReserve =
    maxTokens === undefined || maxTokens < 1
      ? undefined
      : Math.min(Math.ceil(maxTokens), Math.floor(window / OUTPUT_SHARE))
  return {
    ...(model === undefined || fixed?.modelMaxTokens !== undefined ? {} : { model }),
    ...(systemReserve === 0 ? {} : { systemReserve }),
    safetyBuffer: Math.floor(window / FORM_SHARE),
    ...(outputReserve === undefined ? {} : { outputReserve }),
    ...fixed,
  }
}
