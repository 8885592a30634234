import { testKeptCaptures } from '@capstan/testing';
import { createKroxylicious, KafkaService } from '../../src/index.ts';
import { create, minimal, patch } from '../fixtures.ts';

testKeptCaptures({
  folder: new URL('.', import.meta.url),
  operators: () => [createKroxylicious()],
  captures: {
    'another-kafka': {
      given: (client) => create(client, ...minimal()),
      act: ({ client }) =>
        patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'second.example:9092' } }),
    },
  },
});
