//! Spans of calls for an OpenTelemetry collector: OTLP over HTTP, from a thread of its own.
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` names one; the other standard variables
//! (`OTEL_SERVICE_NAME`, `OTEL_EXPORTER_OTLP_HEADERS`, …) hold as well.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracerProvider, Tracer},
};
use tracing::{Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{
    Layer,
    filter::{FilterFn, Filtered, LevelFilter, filter_fn},
    registry::LookupSpan,
};

use super::{environment::names_a_collector, problem::Problem};

/// Sends what is left when it is dropped.
#[derive(Debug)]
pub(super) struct Telemetry(SdkTracerProvider);

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans did not reach the collector");
        }
    }
}

type SpansOnly<S> = Filtered<OpenTelemetryLayer<S, Tracer>, FilterFn, S>;

/// None: there is no collector.
pub(super) fn start<S>() -> Result<Option<(SpansOnly<S>, Telemetry)>, Problem>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if !names_a_collector() {
        return Ok(None);
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .build()
        .map_err(|error| {
            Problem::usage(format!("spans cannot be exported: {error}"))
                .hint("look at OTEL_EXPORTER_OTLP_ENDPOINT, or unset it")
        })?;
    let mut resource = Resource::builder();
    if !super::environment::names_the_service() {
        resource = resource.with_service_name("toolgate");
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("toolgate"))
        .with_filter(filter_fn(ours as fn(&Metadata<'_>) -> bool));
    Ok(Some((layer, Telemetry(provider))))
}

/// Not what the exporter itself does.
fn ours(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= LevelFilter::DEBUG && metadata.target().starts_with("toolgate")
}
