/** The server for tests: the real client against it, on the standard streams of a process of its own or by HTTP. */
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { z } from 'zod'
import { PROGRAM } from './cli.js'

export type Era = 'legacy' | 'auto'

const clientOf = (era: Era): Client =>
  new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode: era } })

const spawned: StdioClientTransport[] = []

/** Ends every server that was started, also where a test failed before it did. */
export async function endServers(): Promise<void> {
  await Promise.all(spawned.splice(0).map((transport) => transport.close()))
}

export interface SpawnedServer {
  readonly client: Client
  readonly transport: StdioClientTransport
  /** What the server said on standard error so far. */
  readonly errorOutput: () => string
}

/** A client of `context-ledger mcp WORDS`, which it starts in a folder. */
export async function spawnedServer(
  cwd: string,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<SpawnedServer> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...words],
    cwd,
    stderr: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  spawned.push(transport)
  let errorText = ''
  transport.stderr?.on('data', (text: unknown) => {
    errorText += String(text)
  })
  const client = clientOf('legacy')
  await client.connect(transport)
  return { client, transport, errorOutput: () => errorText }
}

/** A client by HTTP, of anything that answers like `fetch`. */
export async function httpClient(
  url: string,
  options: { readonly fetch?: typeof fetch; readonly token?: string; readonly era?: Era } = {},
): Promise<Client> {
  const client = clientOf(options.era ?? 'auto')
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
      ...(options.token === undefined
        ? {}
        : { requestInit: { headers: { authorization: `Bearer ${options.token}` } } }),
    }),
  )
  return client
}

/** What a tool answered: its text, its data, or the sentence of its error. */
export interface Answer {
  readonly data: Record<string, unknown>
  readonly text: string
  readonly error: string | undefined
}

export async function ask(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const { content, structuredContent, isError }: CallToolResult = await client.callTool({ name, arguments: args })
  const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
  return {
    data: z.record(z.string(), z.unknown()).parse(structuredContent ?? {}),
    text,
    error: isError === true ? text : undefined,
  }
}
