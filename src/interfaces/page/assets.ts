/**
 * Static files of the page and of evidence files: style sheets and scripts. `scripts/build.mjs` builds them into the package.
 */
import { readFile } from 'node:fs/promises'
import { builtFile, buildId } from '../../lib/package-root.js'

const TYPES = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'evidence.css': 'text/css; charset=utf-8',
  'evidence.js': 'text/javascript; charset=utf-8',
} as const

/** A browser may keep a file, because its address names the build. */
export const ASSET_CACHE = 'private, max-age=86400, immutable'

const version = encodeURIComponent(buildId().trim())

/** The address of a static file of this build. */
export const assetAddress = (name: string): string => `/assets/${name}?v=${version}`

/** The name of a static file. */
export type AssetName = keyof typeof TYPES

const isAsset = (name: string): name is AssetName => Object.hasOwn(TYPES, name)

/** A static file. */
export interface Asset {
  readonly type: string
  readonly text: string
}

const cache = new Map<AssetName, Promise<string>>()

/** The text of a file, cached. */
export async function assetText(name: AssetName): Promise<string> {
  const text = cache.get(name) ?? readFile(builtFile('src', 'interfaces', 'page', 'assets', name), 'utf8')
  cache.set(name, text)
  return await text
}

/** A file by name; undefined if it does not exist. */
export async function asset(name: string): Promise<Asset | undefined> {
  if (name === 'icon.svg') return { type: 'image/svg+xml', text: ICON }
  return isAsset(name) ? { type: TYPES[name], text: await assetText(name) } : undefined
}

/** A sawtooth. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 14 6 3v9l5-9v9l4-7" fill="none" stroke="#5b75e8" stroke-width="1.8"/></svg>'
