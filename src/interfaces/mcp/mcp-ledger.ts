/** The part of a ledger that the tools and resources need: the calls that they name. */
import { boundCalls } from './binding.js'
import { resourceCalls } from './resources.js'
import type { ToolLedger } from './tool.js'
import { tools } from './tools/index.js'

type McpCall = (typeof boundCalls | typeof resourceCalls | (typeof tools)[number]['calls'])[number]

/** The calls that they make. */
export const mcpCalls: readonly McpCall[] = [
  ...boundCalls,
  ...resourceCalls,
  ...tools.flatMap<McpCall>((tool) => tool.calls),
]

/** Their names. */
export type McpCallName = McpCall['name']

/** What a server needs. */
export type McpLedger = ToolLedger<McpCallName>
