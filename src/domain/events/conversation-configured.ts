import {
  configurationRenamed,
  configurationSchema,
  namesInConfiguration,
  upcastConfiguration,
} from './configuration.js'
import { configurationLine } from './lines.js'
import { defineEvent } from './event-definition.js'
import { NO_TEXTS } from './texts.js'

// Version 2: the shape of contexts. Version 3: another name of a setting.
export const conversationConfigured = defineEvent({
  description: 'the settings of the conversation from here on; first in every stream, and again after each change',
  version: 3,
  opensStream: true,
  triggers: true,
  activity: 'update',
  label: 'Settings',
  withoutContent: ['policy', 'rendererVersion', 'estimator', 'scope'],
  texts: NO_TEXTS,
  schema: configurationSchema,
  upcasters: { 1: upcastConfiguration, 2: configurationRenamed },
  namesFromOutside: namesInConfiguration,
  describe: configurationLine,
})
