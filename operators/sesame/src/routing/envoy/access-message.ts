// From the model of a listener's TLS, tokens and authorization to Envoy's messages.
import { type Choice, CONFIG_SOURCE, type Envoy, typed } from '../../envoy/index.ts';
import type { SecretKey } from '../../model/certificate.ts';
import type {
  AuthorizationService,
  ClientValidation,
  DownstreamTls,
  ForwardedCertificate,
  Login,
  TokenProvider,
  TokenVerification,
} from '../../model/listener.ts';
import { tlsParameters } from './cluster-message.ts';
import { askedService, bodyMessage, textMatcher } from './policy-message.ts';

export function downstreamTls(tls: DownstreamTls): Envoy.TransportSocket {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: typed('envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', tlsContext(tls)),
  };
}

export function quicSocket(tls: DownstreamTls): Envoy.TransportSocket {
  return {
    name: 'envoy.transport_sockets.quic',
    typed_config: typed('envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport', {
      downstream_tls_context: tlsContext(tls),
    }),
  };
}

function tlsContext(tls: DownstreamTls): Envoy.DownstreamTlsContext {
  const { clientValidation, protocols = [] } = tls;
  return {
    common_tls_context: {
      tls_params: tlsParameters({
        minimumProtocolVersion: tls.minimumVersion,
        maximumProtocolVersion: tls.maximumVersion,
        cipherSuites: tls.cipherSuites,
        ecdhCurves: tls.ecdhCurves,
      }),
      tls_certificate_sds_secret_configs: tls.certificates.map((name) => ({ name, sds_config: CONFIG_SOURCE })),
      alpn_protocols: protocols.length > 0 ? protocols : undefined,
      ...(clientValidation && clientValidationMessage(clientValidation)),
    },
    require_client_certificate: clientValidation ? tls.requiresClientCertificate : undefined,
  };
}

function clientValidationMessage(
  validation: ClientValidation,
): Choice<Envoy.CommonTlsContext, 'validation_context' | 'validation_context_sds_secret_config'> {
  const { ca, caSecret, acceptsUntrusted, revocations } = validation;
  if (caSecret !== undefined)
    return { validation_context_sds_secret_config: { name: caSecret, sds_config: CONFIG_SOURCE } };
  return {
    validation_context: {
      trusted_ca: ca && { inline_bytes: ca },
      trust_chain_verification: acceptsUntrusted ? 'ACCEPT_UNTRUSTED' : undefined,
      crl: revocations && { inline_bytes: revocations.list },
      only_verify_leaf_cert_crl: revocations?.isForLeafOnly,
    },
  };
}

export function forwardedCertificateMessage(
  forwarded: ForwardedCertificate,
): Envoy.HttpConnectionManagerSetCurrentClientCertDetails {
  const { subject, cert, chain, dns, uri } = forwarded;
  return { subject: subject ? true : undefined, cert, chain, dns, uri };
}

export function authorizationMessage(service: AuthorizationService): Envoy.Any {
  const { failOpen, body, protocol } = service;
  const headers = protocol.kind === 'http' ? protocol.requestHeaders : [];
  return typed('envoy.extensions.filters.http.ext_authz.v3.ExtAuthz', {
    ...askedService(service),
    allowed_headers: headers.length > 0 ? { patterns: headers.map(textMatcher) } : undefined,
    transport_api_version: 'V3',
    failure_mode_allow: failOpen,
    status_on_error: { code: 'Forbidden' },
    clear_route_cache: true,
    include_peer_certificate: true,
    with_request_body: body && bodyMessage(body),
  });
}

export function tokensMessage({ providers }: TokenVerification): Envoy.Any {
  return typed('envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication', {
    providers: Object.fromEntries(providers.map((provider) => [provider.name, providerMessage(provider)])),
    requirement_map: Object.fromEntries(providers.map(({ name }) => [name, { provider_name: name }])),
  });
}

function providerMessage({ issuer, audiences, forwardsToken, keys }: TokenProvider): Envoy.JwtProvider {
  return { issuer, audiences, forward: forwardsToken, ...keysMessage(keys) };
}

function keysMessage(keys: TokenProvider['keys']): Choice<Envoy.JwtProvider, 'local_jwks' | 'remote_jwks'> {
  if (keys.kind === 'inline') return { local_jwks: { inline_string: keys.keySet } };
  const { uri, cluster, timeout, cacheDuration } = keys;
  return {
    remote_jwks: { http_uri: { uri, cluster: cluster.name, timeout }, cache_duration: cacheDuration },
  };
}

export function loginMessage(login: Login): Envoy.Any {
  const { authorizationEndpoint, token, clientId, clientSecret, cookieSecret, callbackPath, logoutPath } = login;
  const secret = ({ name }: SecretKey): Envoy.SdsSecretConfig => ({ name, sds_config: CONFIG_SOURCE });
  return typed('envoy.extensions.filters.http.oauth2.v3.OAuth2', {
    config: {
      token_endpoint: { uri: token.uri, cluster: token.cluster.name, timeout: token.timeout },
      authorization_endpoint: authorizationEndpoint,
      credentials: {
        client_id: clientId,
        token_secret: secret(clientSecret),
        hmac_secret: secret(cookieSecret),
      },
      // The name and the port by which the client knows the host.
      redirect_uri: `https://%REQ(:authority)%${callbackPath}`,
      redirect_path_matcher: { path: { exact: callbackPath } },
      signout_path: { path: { exact: logoutPath } },
      forward_bearer_token: login.forwardsToken,
      auth_scopes: login.scopes,
      use_refresh_token: true,
    },
  });
}
