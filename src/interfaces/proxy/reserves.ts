/** The part of the model's window that the conversation cannot use: the tools of each request, and the answer. */
import { either as E } from 'fp-ts'
import { checkId } from '../../domain/values/ids.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { modelWindow } from '../../ports/model-windows.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { ProxyRequest } from '../../application/model-apis/api.js'
import { jsonText } from '../../application/model-apis/json.js'

/** Reserves are rounded up to steps, so that one tool more or less seldom changes the recorded policy. */
const STEP_TOKENS = 256

/** At most a quarter of the window is reserved for the answer: clients often request more than they use. */
const OUTPUT_DIVISOR = 4

/**
 * A twelfth of the window is reserved for the fields around the messages (ids, types, cache marks) and for errors of the
 * token estimate. Sixty items of the Responses API took 900 tokens more as JSON than the estimator computed.
 */
const OVERHEAD_DIVISOR = 12

/** The settings that a request needs. Settings that the user fixed take precedence. */
export function reservesOf(request: ProxyRequest, fixed: PolicySettings | undefined): PolicySettings {
  const { tools, maxTokens } = request
  // A request to a server with one model may have an empty name, and any request may have an unknown one.
  const isName = request.model !== undefined && E.isRight(checkId('model', request.model))
  const model = isName ? request.model : undefined
  const window = fixed?.modelMaxTokens ?? modelWindow(model)
  const text = tools.length === 0 ? '' : jsonText(tools)
  const systemReserve = Math.ceil((defaultEstimator.text(text) + tools.length * 8) / STEP_TOKENS) * STEP_TOKENS
  const outputReserve =
    maxTokens === undefined || maxTokens < 1
      ? undefined
      : Math.min(Math.ceil(maxTokens), Math.floor(window / OUTPUT_DIVISOR))
  return {
    ...(model === undefined || fixed?.modelMaxTokens !== undefined ? {} : { model }),
    ...(systemReserve === 0 ? {} : { systemReserve }),
    safetyBuffer: Math.floor(window / OVERHEAD_DIVISOR),
    ...(outputReserve === undefined ? {} : { outputReserve }),
    ...fixed,
  }
}
